// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting
import TestSupport
import Testing

@Suite("Faults of simulations", .timeLimit(.minutes(30)))
struct SimulatedFaultTests {
  /// Returns a simulation of a worker that fetches every second for a minute, and logs each outcome that is no success.
  private func polling(
    _ edit: @escaping @Sendable (SimulatedWorld) throws -> Void = { _ in }
  ) -> Simulation {
    Simulation { world in
      try world.server("https://api.example") { _ in .text("fine") }
      world.machine("worker") { machine in
        var configuration = StackConfiguration()
        configuration.timeouts.total = .seconds(5)
        let stack = machine.stack(configuration)
        machine.log("starts")
        for _ in 0..<60 {
          do throws(HTTPFetchError<TextAPIError>) { _ = try await stack.fetch(.text("https://api.example/")) } catch {
            machine.log("\(error.stage.rawValue)/\(error.code)")
          }
          try await Task.sleep(for: .seconds(1))
        }
      }
      try edit(world)
    }
  }

  private func run(_ faults: SimulatedFault...) async throws -> SimulationTrace {
    try await polling().run(seed: 7, faults: .exactly(faults))
  }

  @Test("Without faults, all calls succeed over one connection")
  func none() async throws {
    let trace = try await run()
    #expect(trace.calls.count == 60 && trace.calls.allSatisfy(\.hasSucceeded))
    #expect(trace.lines == ["0.000 s worker: starts"])
  }

  @Test("During a partition calls run into their limit, and afterwards they succeed")
  func partition() async throws {
    let trace = try await run(.partition("worker", "api.example", at: .milliseconds(10_500), for: .seconds(20)))
    let failed = trace.calls.filter { !$0.hasSucceeded }
    #expect((3...4).contains(failed.count), "\(trace.lines)")
    #expect(failed.allSatisfy { $0.start > .seconds(10) && $0.start < .seconds(31) })
    #expect(failed.allSatisfy { $0.failure?.hasPrefix("timeout/") == true }, "\(failed.map(\.failure))")
    #expect(trace.calls.last?.hasSucceeded == true)
  }

  @Test("A crashed server resets its connections and refuses others until it is restarted")
  func crashedServer() async throws {
    let trace = try await run(.crash("api.example", at: .milliseconds(10_500), restartAfter: .seconds(5)))
    let failed = trace.calls.filter { !$0.hasSucceeded }
    #expect(failed.count == 5 && failed.allSatisfy { $0.failure?.hasPrefix("connect/connect_failed") == true })
    #expect(failed.allSatisfy { $0.start > .seconds(10) && $0.start < .seconds(16) })
  }

  @Test("The program of a crashed machine runs anew, and its old tasks never continue")
  func crashedWorker() async throws {
    let trace = try await run(.crash("worker", at: .milliseconds(10_500), restartAfter: .seconds(5)))
    #expect(trace.lines.filter { $0.hasSuffix("starts") } == ["0.000 s worker: starts", "15.500 s worker: starts"])
    #expect(trace.calls.count == 11 + 60 && trace.calls.allSatisfy { $0.hasSucceeded || $0.wasAbandoned })
    #expect(!trace.calls.contains { $0.start > .milliseconds(10_500) && $0.start < .milliseconds(15_500) })
  }

  @Test("A paused machine does nothing, and continues where it was")
  func pause() async throws {
    let trace = try await run(.pause("worker", at: .milliseconds(10_500), for: .seconds(30)))
    #expect(trace.calls.count == 60 && trace.calls.allSatisfy(\.hasSucceeded))
    #expect(!trace.calls.contains { $0.start > .milliseconds(10_500) && $0.start < .milliseconds(40_500) })
    #expect(trace.duration > .seconds(89))
  }

  @Test("Connections that are reset cost no call of a method that may be sent again")
  func reset() async throws {
    let trace = try await run(.resetConnections("worker", "api.example", at: .milliseconds(10_500)))
    #expect(trace.calls.allSatisfy(\.hasSucceeded) && trace.requests.count == 60)
  }

  @Test("A host that cannot be found fails new connections only")
  func lostName() async throws {
    let name = SimulatedFault.lostName("api.example", at: .milliseconds(10_200), for: .seconds(10))
    #expect(try await run(name).calls.allSatisfy(\.hasSucceeded))
    let trace = try await run(name, .resetConnections("worker", "api.example", at: .milliseconds(10_500)))
    let failed = trace.calls.filter { !$0.hasSucceeded }
    #expect(failed.count == 10 && failed.allSatisfy { $0.failure?.hasPrefix("resolve/host_not_found") == true })
  }

  @Test("A step of a machine's clock changes its date and no monotonic clock")
  func clockStep() async throws {
    let simulation = Simulation { world in
      world.machine("worker", count: 2) { machine in
        let (date, instant) = (Date(), ContinuousClock.now)
        try await Task.sleep(for: .seconds(10))
        machine.log("\(Date().timeIntervalSince(date)) \(ContinuousClock.now - instant)")
      }
    }
    let trace = try await simulation.run(
      seed: 1, faults: .exactly([.clockStep("worker-2", at: .seconds(3), by: .seconds(-3_600))]))
    #expect(
      Set(trace.lines.dropFirst()) == [
        "10.000 s worker-1: 10.0 10.0 seconds", "10.000 s worker-2: -3590.0 10.0 seconds",
      ])
  }

  @Test("A slow network delays answers for as long as it is slow")
  func slowLink() async throws {
    let slow = LinkConditions(delay: .milliseconds(400))
    let trace = try await run(.slowLink("worker", "api.example", slow, at: .milliseconds(10_200), for: .seconds(10)))
    let slowed = trace.calls.filter { ($0.end ?? .zero) - $0.start >= .milliseconds(800) }
    #expect((5...6).contains(slowed.count) && trace.calls.allSatisfy(\.hasSucceeded))
    #expect(slowed.allSatisfy { $0.start > .seconds(10) && $0.start < .seconds(20) })
  }

  @Test("Bandwidth limits the bytes of a connection, and loss costs time only")
  func bandwidth() async throws {
    let simulation = Simulation { world in
      try world.server("https://api.example") { _ in .text(String(repeating: "x", count: 1_000_000)) }
      world.machine("worker") { machine in
        let size = try await machine.stack().fetch(.text("https://api.example/")).value.utf8.count
        machine.log("\(size)")
      }
      world.conditions = LinkConditions(loss: world.seed == 2 ? 0.3 : 0, bytesPerSecond: 100_000)
    }
    let plain = try await simulation.run(seed: 1)
    #expect(plain.duration > .seconds(10) && plain.duration < .seconds(11) && plain.lines.count == 1)
    let lossy = try await simulation.run(seed: 2)
    #expect(lossy.duration > plain.duration && lossy.lines.last?.hasSuffix(": 1000000") == true)
  }
}

@Suite("Identities of simulated servers", .timeLimit(.minutes(30)))
struct SimulatedIdentityTests {
  private func outcome(
    _ identity: SimulatedIdentity, pins: [String], faults: [SimulatedFault] = []
  ) async throws -> [String] {
    let simulation = Simulation { world in
      try world.server("https://api.example", identity: identity) { _ in .text("fine") }
      world.machine("worker") { machine in
        let policy = try PinningPolicy("api.example", pins: pins)
        let judge = try ServerTrustEvaluator(
          configuration: .init(pinningPolicies: [policy], allowNotPinnedDomains: true))
        var connection = ConnectionOptions()
        connection.tls.trustJudge = judge
        let stack = machine.stack(connection: connection)
        try await Task.sleep(for: .seconds(10))
        do throws(HTTPFetchError<TextAPIError>) {
          let response = try await stack.fetch(.text("https://api.example/")).response
          machine.log("\(response.facts.trust?.rawValue ?? "-")")
        } catch {
          machine.log("\(error.stage.rawValue)/\(error.code)")
        }
      }
    }
    let lines = try await simulation.run(seed: 1, faults: .exactly(faults)).lines
    return lines.compactMap { $0.split(separator: "worker: ").dropFirst().first.map(String.init) }
  }

  @Test("A required SPIFFE ID is refused, because simulated servers have none")
  func workload() async throws {
    let simulation = Simulation { world in
      try world.server("https://api.example") { _ in .text("fine") }
      world.machine("worker") { machine in
        var connection = ConnectionOptions()
        connection.tls.peer = .ids("spiffe://example.org/api")
        do throws(HTTPFetchError<TextAPIError>) {
          _ = try await machine.stack(connection: connection).fetch(.text("https://api.example/"))
        } catch {
          machine.log("\(error.stage.rawValue)/\(error.code)")
        }
      }
    }
    #expect(try await simulation.run(seed: 1).lines.contains { $0.hasSuffix("worker: request/unsupported") })
  }

  private let good = SimulatedIdentity(keys: ["leaf", "root"])
  private let backup = SimulatedIdentity(keys: ["backup"]).pins[0]

  @Test("Pins, trust, hosts and validity decide as in a handshake")
  func decisions() async throws {
    #expect(try await outcome(good, pins: [good.pins[1], backup]) == ["pinned"])
    let other = SimulatedIdentity(keys: ["other", "root 2"])
    #expect(try await outcome(other, pins: [good.pins[1], backup]) == ["trust/pin_mismatch"])
    #expect(
      try await outcome(SimulatedIdentity(keys: ["leaf"], isTrusted: false), pins: [good.pins[0], backup])
        == ["tls/untrusted_certificate"])
    var foreign = good
    foreign.hosts = ["www.example"]
    #expect(try await outcome(foreign, pins: [good.pins[0], backup]) == ["tls/host_mismatch"])
    var expiring = good
    expiring.validUntil = .seconds(60)
    #expect(try await outcome(expiring, pins: [good.pins[0], backup]) == ["pinned"])
    // The worker's date is an hour ahead.
    let step = SimulatedFault.clockStep("worker", at: .seconds(1), by: .seconds(3_600))
    #expect(
      try await outcome(expiring, pins: [good.pins[0], backup], faults: [step]) == ["tls/certificate_expired"])
  }
}
