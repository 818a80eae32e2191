// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroFleet
import LastroSimulation
import LastroSupport
import LastroTesting
import Logging
import Testing

@Suite("One token for twenty simulated instances", .timeLimit(.minutes(30)))
struct SharedTokenSimulationTests {
  /// Returns an hour of instances that call an API, each every ten seconds.
  private func fleet(_ endpoint: FamilyEndpoint, _ starts: Lock<[String: Int]>, minutes: Int) -> Simulation {
    Simulation(limit: .seconds(minutes * 60 + 120)) { world in
      let shared = Lock<(store: MemoryFleetStore, end: Duration)?>(nil)
      try world.server("https://login.example") { request in
        let response = endpoint.respond(to: request)
        // The token is spent before the response is sent.
        try await Task.sleep(for: .milliseconds(100))
        return response
      }
      try world.server("https://api.example") { _ in .text("fine") }
      world.machine("shop", count: 20) { machine in
        starts.withLock { $0[machine.name] = machine.starts }
        let time = machine.timeSource, random = machine.randomSource
        let (store, end) = shared.withLock { shared in
          let made =
            shared
            ?? (
              MemoryFleetStore(now: { time.now() }) {
                try? await Task.sleep(for: .microseconds(Int64(random.next() % 2000)))
              }, time.now() + .seconds(minutes * 60)
            )
          shared = made
          return made
        }
        let client = try OAuth2Client(tokenURL: "https://login.example/token", id: "shop", authentication: .none)
        let tokens = try client.refreshToken(
          "r0", parameters: ["instance": Secret("\(machine.name).\(machine.starts)")], stack: machine.stack()
        )
        .shared(
          in: store, as: "api", sealedWith: SealingKey(base64: Secret(testKey)),
          logger: Logger(label: "fleet") { _ in SwiftLogNoOpLogHandler() }, time: time)
        let authenticator = try BearerAuthenticator(source: tokens, origins: [Origin("https://api.example")])
        let stack = machine.stack(StackConfiguration(interceptors: [authenticator, .retry]))
        while time.now() < end {
          _ = try? await stack.fetch(.text("https://api.example/"))
          try await Task.sleep(for: .seconds(10))
        }
      }
    }
  }

  /// Returns an endpoint, and the number of starts of each instance, by which it knows which of them run.
  private func endpoint(isLenient: Bool) -> (FamilyEndpoint, Lock<[String: Int]>) {
    let starts = Lock<[String: Int]>([:])
    let endpoint = FamilyEndpoint(isLenient: isLenient) { instance in
      let parts = instance.split(separator: ".")
      return starts.withLock { $0[String(parts[0])] } == Int(parts[1])
    }
    return (endpoint, starts)
  }

  /// Returns crashes at random moments, each of one instance, ten seconds after the one before on average.
  private func crashes(seed: UInt64, minutes: Int) -> [SimulatedFault] {
    let random = RandomSource.seeded(seed)
    return (0..<(minutes * 6)).map { number in
      .crash(
        "shop-\(1 + random.next() % 20)", at: .milliseconds(number * 10_000 + Int(random.next() % 10_000)),
        restartAfter: .milliseconds(Int64(500 + random.next() % 3000)))
    }
  }

  @Test("Without faults each refresh token is spent once in an hour, and no call fails")
  func calm() async throws {
    let (endpoint, starts) = self.endpoint(isLenient: false)
    let trace = try await fleet(endpoint, starts, minutes: 60).run(seed: 1)
    #expect(endpoint.reuses == 0)
    #expect((30...45).contains(endpoint.refreshes), "\(endpoint.refreshes)")
    let calls = trace.calls.filter { $0.url.contains("api.example") }
    #expect((7000...7220).contains(calls.count) && !calls.contains { !$0.hasSucceeded }, "\(calls.count)")
  }

  @Test("With crashes at random moments no refresh token is sent again while its spender runs", arguments: [1])
  func crashes(seed: UInt64) async throws {
    let (endpoint, starts) = self.endpoint(isLenient: true)
    let trace = try await fleet(endpoint, starts, minutes: 60).run(
      seed: seed, faults: .exactly(crashes(seed: seed, minutes: 60)))
    #expect(endpoint.needless == [])
    // The endpoint accepts a token once more while its successor is unused, so that the fleet is never locked out.
    let calls = trace.calls.filter { $0.url.contains("api.example") && !$0.wasAbandoned }
    let failures = calls.filter { !$0.hasSucceeded }
    #expect(failures.isEmpty, "\(failures.prefix(3))")
    #expect(calls.count > 6500)
  }

  /// Each crash hits an instance within the 100 ms in which a token is spent and its successor is not kept yet, or next
  /// to them.
  @Test("Wherever in a refresh its instance crashes, only an unkept successor causes a second spending")
  func everyStep() async throws {
    let (plain, starts) = self.endpoint(isLenient: true)
    let trace = try await fleet(plain, starts, minutes: 2).run(seed: 3)
    let first = try #require(trace.requests.first { $0.url.contains("login.example") })
    for step in 0..<10 {
      let (endpoint, starts) = self.endpoint(isLenient: true)
      let moment = first.time - .milliseconds(20) + .milliseconds(15 * step)
      let faults = (1...20).map {
        SimulatedFault.crash("shop-\($0)", at: max(moment, .zero), restartAfter: .seconds(1))
      }
      let trace = try await fleet(endpoint, starts, minutes: 2).run(seed: 3, faults: .exactly(faults))
      #expect(endpoint.needless == [] && endpoint.reuses <= 1, "step \(step)")
      let calls = trace.calls.filter { $0.url.contains("api.example") && !$0.wasAbandoned }
      let failures = calls.filter { !$0.hasSucceeded }
      #expect(failures.isEmpty, "step \(step): \(failures.prefix(3))")
    }
  }
}
