// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import Testing

@Suite("Promises of simulations", .timeLimit(.minutes(30)))
struct SimulationPropertyTests {
  /// Returns the violation of a property in a run of a worker, or "kept".
  private func outcome(
    of property: SimulationProperty, faults: [SimulatedFault] = [],
    answer: @escaping @Sendable (LoopbackRequest) async throws -> LoopbackResponse = { _ in .text("fine") },
    program: @escaping @Sendable (TransportNetworkStack) async throws -> Void
  ) async throws -> String {
    let simulation = Simulation { world in
      try world.server("https://api.example", answer: answer)
      world.machine("worker") { machine in
        var configuration = StackConfiguration(interceptors: [.retry])
        configuration.timeouts.total = .seconds(5)
        try await program(machine.stack(configuration))
      }
      world.require(property)
    }
    do {
      try await simulation.run(seed: 1, faults: .exactly(faults))
      return "kept"
    } catch let failure as SimulationFailure {
      #expect(failure.property == property.name)
      return failure.violation
    }
  }

  private static func post(_ options: RequestOptions = RequestOptions()) -> RawHTTPResource {
    .send(.post, "https://api.example/pay", body: .raw("1"), options: options)
  }

  @Test("A request of the same call that is processed again breaks noRequestTwice, and one that was refused does not")
  func noRequestTwice() async throws {
    var idempotent = RequestOptions()
    idempotent.idempotency = .idempotent
    let twice = try await outcome(of: .noRequestTwice(of: .post), answer: { _ in LoopbackResponse(status: 500) }) {
      [idempotent] in _ = try? await $0.fetch(Self.post(idempotent))
    }
    #expect(twice.hasPrefix("POST https://api.example/pay of worker was received at 0.0"), "\(twice)")
    #expect(twice.contains("answered with 500, and again at "))
    let refused = try await outcome(of: .noRequestTwice(of: .post), answer: { _ in LoopbackResponse(status: 503) }) {
      [idempotent] in _ = try? await $0.fetch(Self.post(idempotent))
    }
    #expect(refused == "kept")
    var keyed = RequestOptions()
    keyed.idempotency = .generatedKey
    let recognized = try await outcome(of: .noRequestTwice(of: .post), answer: { _ in LoopbackResponse(status: 500) }) {
      [keyed] in _ = try? await $0.fetch(Self.post(keyed))
    }
    #expect(recognized == "kept")
    // Two calls are two payments.
    let calls = try await outcome(of: .noRequestTwice(of: .post)) { stack in
      for _ in 0..<2 { _ = try await stack.fetch(Self.post()) }
    }
    #expect(calls == "kept")
  }

  @Test("A call that ends late, or never, breaks everyCallEnds")
  func everyCallEnds() async throws {
    let slow: @Sendable (LoopbackRequest) async throws -> LoopbackResponse = { _ in
      try await Task.sleep(for: .seconds(3))
      return .text("fine")
    }
    let late = try await outcome(of: .everyCallEnds(within: .seconds(2)), answer: slow) {
      _ = try await $0.fetch(.text("https://api.example/"))
    }
    #expect(late.hasPrefix("GET https://api.example/ of worker began at 0.000 s and ended at 3.0"), "\(late)")
    let inTime = try await outcome(of: .everyCallEnds(within: .seconds(4)), answer: slow) {
      _ = try await $0.fetch(.text("https://api.example/"))
    }
    #expect(inTime == "kept")
    let never = try await outcome(of: .everyCallEnds(within: .seconds(2)), answer: slow) { stack in
      Task { _ = try? await stack.fetch(.text("https://api.example/")) }
      try await Task.sleep(for: .milliseconds(2_500))
    }
    #expect(never.hasSuffix("has not ended at 2.500 s"), "\(never)")
  }

  @Test("A call that fails long after the last fault breaks recovers")
  func recovers() async throws {
    let faults = [SimulatedFault.crash("api.example", at: .seconds(1), restartAfter: .seconds(5))]
    let program: @Sendable (TransportNetworkStack) async throws -> Void = { stack in
      for _ in 0..<10 {
        _ = try? await stack.fetch(.text("https://api.example/"))
        try await Task.sleep(for: .seconds(1))
      }
    }
    #expect(try await outcome(of: .recovers(within: .seconds(1)), faults: faults, program: program) == "kept")
    let broken = try await outcome(
      of: .recovers(within: .seconds(1)), faults: faults, answer: { _ in LoopbackResponse(status: 400) },
      program: program)
    #expect(broken.contains("though the last fault ended at 6.000 s"), "\(broken)")
  }

  @Test("More requests in a second than allowed break neverAbove")
  func neverAbove() async throws {
    let program: @Sendable (TransportNetworkStack) async throws -> Void = { stack in
      for _ in 0..<30 {
        _ = try await stack.fetch(.text("https://api.example/"))
        try await Task.sleep(for: .milliseconds(90))
      }
    }
    #expect(try await outcome(of: .neverAbove(rate: 11), program: program) == "kept")
    #expect(try await outcome(of: .neverAbove(rate: 10), program: program).hasPrefix("11 requests were received from"))
    #expect(try await outcome(of: .neverAbove(rate: 1, of: "https://other.example"), program: program) == "kept")
  }

  @Test("The first error of a program breaks programsSucceed, and own promises read the trace")
  func others() async throws {
    struct Broken: Error {}
    #expect(try await outcome(of: .programsSucceed) { _ in throw Broken() } == "worker: Broken()")
    let few = SimulationProperty("few calls") { $0.calls.count > 1 ? "\($0.calls.count) calls" : nil }
    let calls = try await outcome(of: few) { stack in
      for _ in 0..<2 { _ = try await stack.fetch(.text("https://api.example/")) }
    }
    #expect(calls == "2 calls")
  }
}
