// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroResilience
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

/// Lastro's promises over random faults.
///
/// Without `LASTRO_SOAK` in the environment they make 10,000 calls, else ten million.
@Suite("Promises in simulations", .timeLimit(.minutes(SoakTime.minutes + 5)))
struct PromiseTests {
  private static let calls = SoakTime.minutes > 0 ? 10_000_000 : 10_000

  /// A response that is not the one to the request.
  struct WrongAnswer: Error {}

  private static let simulation = Simulation { world in
    let random = RandomSource.seeded(world.seed)
    world.conditions = LinkConditions(
      delay: .milliseconds(Int(random.next() % 30)), jitter: .milliseconds(Int(random.next() % 20)),
      loss: Double(random.next() % 5) / 100)
    let isHTTP2 = random.next() % 2 == 0
    try world.server("https://api.example", count: 2, http2: isHTTP2) { request in
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
    world.machine("service", count: 2) { machine in
      var configuration = StackConfiguration(interceptors: [.retry])
      configuration.timeouts = try Timeouts(connect: .seconds(2), attempt: .seconds(4), total: .seconds(8))
      configuration.resilience = .standard()
      let stack = machine.stack(configuration)
      try await withThrowingTaskGroup { group in
        for worker in 0..<5 {
          group.addTask {
            for number in 0..<10 {
              let target = "/\(machine.name)/\(machine.starts)/\(worker)/\(number)"
              var request = try ResourceRequest(
                method: number % 3 == 0 ? .post : .get, url: "https://api.example\(target)")
              if number % 3 == 0 { request.body = .raw(target) }
              let outcome = try? await stack.fetch(.raw(request)).value
              if let outcome, String(decoding: outcome, as: UTF8.self) != target { throw WrongAnswer() }
              try await Task.sleep(for: .milliseconds(Int.random(in: 0..<1_000)))
            }
          }
        }
        try await group.waitForAll()
      }
    }
    world.require(
      .noRequestTwice(of: .post), .everyCallEnds(within: .milliseconds(8_050)), .programsSucceed)
  }

  @Test("No POST is sent twice, no response reaches another caller, and every deadline is kept")
  func promises() async throws {
    var calls = 0
    var seed: UInt64 = 1
    while calls < Self.calls {
      calls += try await Self.simulation.run(seeds: seed..<seed + 50, faults: .random(within: .seconds(20)))
      seed += 50
    }
    print("simulated calls: \(calls) in \(seed - 1) runs")
    #expect(calls >= Self.calls)
  }
}
