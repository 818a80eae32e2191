// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroFleet
import LastroResilience
import LastroSimulation
import LastroSupport
import LastroTesting
import Logging
import Testing

@Suite("One quota for simulated stacks", .timeLimit(.minutes(30)))
struct QuotaStackSimulationTests {
  private static let instances = 6

  /// Returns half a minute of instances that send as much as they may, and the store that they share.
  private func run(
    _ whenUnshared: WhenUnshared, faults: [SimulatedFault] = [], whileDown: Range<Int> = 0..<0
  ) async throws -> SimulationTrace {
    let stores = SimulatedStore()
    let simulation = Simulation(limit: .seconds(120)) { world in
      try world.server("https://api.example") { _ in .text("") }
      world.machine("shop", count: Self.instances) { machine in
        let time = machine.timeSource, random = machine.randomSource
        let (store, start) = stores.shared(by: machine)
        let pacer = try Pacer(perSecond: 30, burst: 60, random: random).shared(
          in: store, as: "api", whenUnshared: whenUnshared,
          logger: Logger(label: "fleet") { _ in SwiftLogNoOpLogHandler() })
        var configuration = StackConfiguration()
        configuration.resilience = Resilience(pacer: pacer)
        let stack = machine.stack(configuration)
        while time.now() - start < .seconds(30) {
          let second = Int((time.now() - start) / .seconds(1))
          store.fail(whileDown.contains(second) ? MemoryFleetStore.down : nil)
          _ = try? await stack.fetch(.text("https://api.example/"))
        }
        await pacer.leave()
      }
    }
    return try await simulation.run(seed: 1, faults: .exactly(faults))
  }

  /// Returns the greatest number of requests in any period beyond the pace.
  private func excess(_ trace: SimulationTrace) -> Double {
    var excess = 0.0, most = 0.0, last = Duration.zero
    for request in trace.requests {
      excess = max(0, excess - (request.time - last) / .seconds(1) * 30) + 1
      most = max(most, excess)
      last = request.time
    }
    return most
  }

  @Test("Whole stacks use the quota and no more, also if instances crash and stall", arguments: [true, false])
  func whole(_ hasFractions: Bool) async throws {
    let faults = (0..<10).flatMap { number in
      [
        SimulatedFault.crash("shop-2", at: .seconds(number * 2 + 1), restartAfter: .milliseconds(200)),
        .pause("shop-3", at: .seconds(number * 2 + 2), for: .milliseconds(500)),
      ]
    }
    let trace = try await run(hasFractions ? .fraction(of: Self.instances) : .wait, faults: faults)
    #expect((750...980).contains(trace.requests.count), "\(trace.requests.count)")
    #expect(excess(trace) <= 60 + 10, "\(excess(trace))")
    let failures = trace.calls.filter { $0.failure != nil && !$0.wasAbandoned }
    #expect(failures.isEmpty && trace.programErrors == [], "\(failures.prefix(3))")
  }

  @Test("Stacks whose store is down for ten seconds lose no call, and keep their fractions")
  func down() async throws {
    let trace = try await run(.fraction(of: Self.instances), whileDown: 10..<20)
    let count = trace.requests.count { (Duration.seconds(12)..<Duration.seconds(20)).contains($0.time) }
    #expect((220...250).contains(count), "\(count)")
    #expect(excess(trace) <= 60, "\(excess(trace))")
    #expect(!trace.calls.contains { $0.failure != nil } && trace.programErrors == [])
  }
}
