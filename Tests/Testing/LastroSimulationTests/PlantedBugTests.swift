// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import Testing

/// Services with a bug each, which simulations find and make small.
@Suite("Bugs that simulations find", .timeLimit(.minutes(30)))
struct PlantedBugTests {
  /// Runs a simulation until it fails, and returns the smallest failure after it was repeated by what it prints.
  private func failure(
    _ simulation: Simulation, faults: FaultPlan = .random(upTo: 8)
  ) async throws -> SimulationFailure {
    let found = await #expect(throws: SimulationFailure.self) {
      try await simulation.run(seeds: 1...500, faults: faults)
    }
    let failure = try #require(found)
    let repeated = await #expect(throws: SimulationFailure.self) {
      try await simulation.run(
        seed: failure.seed, order: failure.order, instances: failure.instances, faults: .exactly(failure.faults))
    }
    #expect(repeated?.property == failure.property && repeated?.trace == failure.trace)
    #expect(failure.test.contains("seed: \(failure.seed)"))
    #expect(failure.faults.allSatisfy { failure.test.contains("\($0)") })
    return failure
  }

  @Test("A POST that is declared idempotent without a key is processed twice")
  func retriedPost() async throws {
    let simulation = Simulation { world in
      try world.server("https://payments.example") { request in
        try await Task.sleep(for: .milliseconds(300))
        return .json(#"{"id": 1}"#, status: 201)
      }
      world.machine("shop", count: 3) { machine in
        let stack = machine.stack(StackConfiguration(interceptors: [.retry]))
        for number in 0..<20 {
          var request = try ResourceRequest(method: .post, url: "https://payments.example/charges")
          request.body = .raw("\(machine.name) \(number)")
          // The bug: a charge is not idempotent.
          request.options.idempotency = .idempotent
          _ = try? await stack.fetch(.raw(request))
          try await Task.sleep(for: .seconds(1))
        }
      }
      world.require(.noRequestTwice(of: .post))
    }
    let failure = try await failure(simulation)
    #expect(failure.property == "noRequestTwice(of: POST)")
    #expect(failure.faults.count == 1 && failure.instances == 1, "\(failure)")
  }

  /// A limit of concurrent calls. With the bug, a call that fails keeps its permit.
  private actor Permits {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) { free = count }

    func take() async {
      if free > 0 { free -= 1 } else { await withCheckedContinuation { waiting.append($0) } }
    }

    func giveBack() { if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() } }
  }

  @Test("A permit that is not given back after a failure ends in a program that waits for ever")
  func leakedPermit() async throws {
    let simulation = Simulation { world in
      try world.server("https://api.example") { _ in .text("fine") }
      world.machine("worker", count: 2) { machine in
        var configuration = StackConfiguration()
        configuration.timeouts.total = .seconds(2)
        let stack = machine.stack(configuration)
        let permits = Permits(2)
        for _ in 0..<40 {
          await permits.take()
          // The bug: an error leaves the loop's body without giving the permit back.
          if (try? await stack.fetch(.text("https://api.example/"))) != nil { await permits.giveBack() }
          try await Task.sleep(for: .seconds(1))
        }
      }
    }
    let failure = try await failure(simulation)
    #expect(failure.property == "everyProgramEnds")
    #expect(failure.faults.count <= 2 && failure.instances == 1, "\(failure)")
  }

  @Test("A call without a time limit outlasts the deadline that its caller promised")
  func ignoredDeadline() async throws {
    let simulation = Simulation { world in
      try world.server("https://api.example") { _ in .text("fine") }
      world.machine("worker", count: 2) { machine in
        var configuration = StackConfiguration()
        configuration.timeouts.total = .seconds(5)
        let stack = machine.stack(configuration)
        for _ in 0..<30 {
          var resource = HTTPResource.text("https://api.example/")
          // The bug: the request's own timeouts replace those of the stack.
          resource.options.timeouts = try Timeouts(idle: .seconds(60))
          _ = try? await stack.fetch(resource)
          try await Task.sleep(for: .seconds(1))
        }
      }
      world.require(.everyCallEnds(within: .milliseconds(5_100)))
    }
    let failure = try await failure(simulation)
    #expect(failure.property == "everyCallEnds(within: 5.1 seconds)")
    #expect(failure.faults.count == 1 && failure.instances == 1, "\(failure)")
  }
}
