// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroResilience
import LastroSimulation
import LastroTesting

/// Lastro's promises over random faults: nothing that must not be repeated is sent twice, no response reaches another
/// caller, every deadline is kept, and every permit is returned.
package enum Promises {
  /// A response that is not the one to the request.
  package struct WrongAnswer: Error {}

  /// A permit of a limiter that is in use, or waited for, although every call has ended.
  package struct LostPermit: Error {
    let machine: String
    let limit: ConcurrencyLimiter.Snapshot
  }

  /// The extent of a series of runs.
  package struct Extent: Sendable {
    package var calls = 0
    package var runs: UInt64 = 0
    /// Whether machines crashed in the latest ten runs. The tasks of a crashed machine stay suspended, and keep
    /// memory, because Swift has no way to release them.
    package var hadCrashes = false
  }

  /// Runs the simulation with one seed after the other until it has made a number of calls.
  ///
  /// - Parameters:
  ///   - calls: the number of calls.
  ///   - seed: the first seed. Default 1.
  ///   - checked: called after each ten runs, with the extent so far. It throws an error to end the series.
  /// - Throws: `SimulationFailure` for a broken promise, and the error of `checked`.
  package static func run(
    calls: Int, from seed: UInt64 = 1, checked: (Extent) throws -> Void = { _ in }
  ) async throws -> Extent {
    var extent = Extent()
    while extent.calls < calls {
      let first = seed &+ extent.runs
      extent.hadCrashes.toggle()
      let kinds = FaultPlan.Kind.allCases.filter { $0 != .crash || extent.hadCrashes }
      extent.calls += try await simulation.run(
        seeds: first..<first + 10, faults: .random(of: kinds, within: .seconds(20)))
      extent.runs += 10
      try checked(extent)
    }
    return extent
  }

  private static let origin = "https://api.example"

  private static let simulation = Simulation { world in
    let random = RandomSource.seeded(world.seed)
    world.conditions = LinkConditions(
      delay: .milliseconds(Int(random.next() % 30)), jitter: .milliseconds(Int(random.next() % 20)),
      loss: Double(random.next() % 5) / 100)
    let isHTTP2 = random.next() % 2 == 0
    try world.server(origin, count: 2, http2: isHTTP2) { request in
      if Int.random(in: 0..<10) == 0 { try await Task.sleep(for: .milliseconds(Int.random(in: 0..<3_000))) }
      switch Int.random(in: 0..<40) {
      case 0: return LoopbackResponse(status: 503)
      case 1: return .fault(.reset)
      case 2: return .fault(.close)
      case 3: return LoopbackResponse(body: Array(request.target.utf8), fault: .truncateBody(after: 2))
      case 4: return .fault(.refusedStream)
      case 5: return .fault(.goAway)
      default: return .text(request.target)
      }
    }
    world.machine("service", count: 2) { machine in try await serve(on: machine) }
    world.require(.noRequestTwice(of: .post), .everyCallEnds(within: .milliseconds(8_050)), .programsSucceed)
  }

  /// The program of a machine: five workers that make ten calls each.
  private static func serve(on machine: SimulatedMachine) async throws {
    var configuration = StackConfiguration(interceptors: [.retry])
    configuration.timeouts = try Timeouts(connect: .seconds(2), attempt: .seconds(4), total: .seconds(8))
    // Fewer permits than workers, so that some calls wait for one.
    let limiter = try ConcurrencyLimiter(initial: 3, range: 3...20)
    configuration.resilience = .standard()
    configuration.resilience?.limiter = limiter
    let stack = machine.stack(configuration)
    try await withThrowingTaskGroup { group in
      for worker in 0..<5 {
        group.addTask {
          for number in 0..<10 {
            let target = "/\(machine.name)/\(machine.starts)/\(worker)/\(number)"
            var request = try ResourceRequest(method: number % 3 == 0 ? .post : .get, url: "\(origin)\(target)")
            if number % 3 == 0 { request.body = .raw(target) }
            let outcome = try? await stack.fetch(.raw(request)).value
            if let outcome, String(decoding: outcome, as: UTF8.self) != target { throw WrongAnswer() }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0..<1_000)))
          }
        }
      }
      try await group.waitForAll()
    }
    let limit = limiter.snapshot(of: ResilienceKey(try Origin(origin)))
    if limit.inUse > 0 || limit.waiting > 0 { throw LostPermit(machine: machine.name, limit: limit) }
  }
}
