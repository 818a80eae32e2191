// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroFleet
import LastroResilience
import LastroSimulation
import LastroSupport
import LastroTesting
import Logging
import Testing

/// A source whose tokens last longer than a test.
private struct LastingSource: AccessTokenSource {
  func token(replacing old: AccessToken?) async throws -> AccessToken {
    try AccessToken("hidden-a", expiresIn: .seconds(3600), refreshToken: "hidden-r")
  }
}

@Suite("Round trips to a store", .timeLimit(.minutes(30)))
struct StoreTripSimulationTests {
  /// Returns the calls of a minute and the operations of the store, for instances that share a token, a quota and
  /// verdicts, and that send as much as they may.
  private func run(
    instances: Int, perSecond: Double, burst: Int, _ whenUnshared: WhenUnshared
  ) async throws -> (calls: Int, operations: Int) {
    let stores = SimulatedStore()
    let simulation = Simulation(limit: .seconds(120)) { world in
      try world.server("https://api.example") { _ in .text("") }
      world.machine("shop", count: instances) { machine in
        let time = machine.timeSource, random = machine.randomSource
        let (store, start) = stores.shared(by: machine)
        let logger = Logger(label: "fleet") { _ in SwiftLogNoOpLogHandler() }
        let tokens = try LastingSource().shared(
          in: store, as: "api", sealedWith: SealingKey(base64: Secret(testKey)), logger: logger, time: time)
        let authenticator = try BearerAuthenticator(source: tokens, origins: [Origin("https://api.example")])
        var configuration = StackConfiguration(interceptors: [authenticator])
        configuration.resilience = Resilience(
          pacer: try Pacer(perSecond: perSecond, burst: burst, random: random).shared(
            in: store, as: "api", whenUnshared: whenUnshared, logger: logger),
          breaker: try CircuitBreaker(time: time, random: random).shared(in: store, as: "api", logger: logger))
        let stack = machine.stack(configuration)
        await withTaskGroup { group in
          for _ in 0..<8 {
            group.addTask {
              while time.now() - start < .seconds(60) { _ = try? await stack.fetch(.text("https://api.example/")) }
            }
          }
        }
      }
    }
    let trace = try await simulation.run(seed: 1)
    #expect(!trace.calls.contains { $0.failure != nil } && trace.programErrors == [])
    return (trace.calls.count, stores.operations)
  }

  @Test(
    "With token, quota and verdicts there are 50 calls or more for each round trip, if a lease has 50 units or more")
  func alone() async throws {
    // A lease has 120 units for 1.2 s.
    let leased = try await run(instances: 1, perSecond: 100, burst: 400, .wait)
    #expect(leased.calls >= 50 * leased.operations && leased.operations > 0, "\(leased)")
    let owned = try await run(instances: 1, perSecond: 100, burst: 400, .fraction(of: 1))
    #expect(owned.calls >= 50 * owned.operations && owned.operations > 0, "\(owned)")
  }
}
