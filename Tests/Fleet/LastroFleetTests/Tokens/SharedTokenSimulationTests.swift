// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroFleet
import LastroSimulation
import LastroSupport
import LastroTesting
import Logging
import Testing

/// A token endpoint that rotates refresh tokens, and revokes all of them when one is sent twice.
private final class FamilyEndpoint: Sendable {
  private struct State {
    var count = 0
    /// The instance, as its name and its number of starts, that spent each refresh token.
    var spenders: [String: String] = [:]
    var starts: [String: Int] = [:]
    /// The reuses of a refresh token whose spender runs still.
    var needless: [String] = []
    var reuses = 0
    var isRevoked = false
  }

  private let state = Lock(State())
  /// Whether a token that was sent twice gets the same successor, as long as that is unused.
  let isLenient: Bool

  init(isLenient: Bool) { self.isLenient = isLenient }

  var needless: [String] { state.withLock { $0.needless } }
  var reuses: Int { state.withLock { $0.reuses } }
  var refreshes: Int { state.withLock { $0.count } }

  func started(_ machine: String, _ starts: Int) { state.withLock { $0.starts[machine] = starts } }

  /// Returns the response to a form with a refresh token `rN` and the name of the instance.
  func respond(to request: LoopbackRequest) -> LoopbackResponse {
    let fields = request.text.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    let form = Dictionary(fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { $1 }
    guard let token = form["refresh_token"], let instance = form["instance"] else {
      return LoopbackResponse(status: 400)
    }
    return state.withLock { state in
      let parts = instance.split(separator: ".")
      if let spender = state.spenders[token] {
        state.reuses += 1
        let names = spender.split(separator: ".")
        if state.starts[String(names[0])] == Int(names[1]) { state.needless.append("\(token): \(spender), \(parts)") }
        if !isLenient || state.spenders["r\(state.count)"] != nil { state.isRevoked = true }
      } else {
        state.spenders[token] = instance
        state.count += 1
      }
      if state.isRevoked { return .json(#"{"error": "invalid_grant"}"#, status: 400) }
      return .json(
        #"{"access_token": "a\#(state.count)", "token_type": "Bearer", "expires_in": 120, "refresh_token": "r\#(state.count)"}"#
      )
    }
  }
}

@Suite("One token for twenty simulated instances", .timeLimit(.minutes(5)))
struct SharedTokenSimulationTests {
  /// Returns an hour of instances that call an API, each every ten seconds.
  private func fleet(_ endpoint: FamilyEndpoint, minutes: Int) -> Simulation {
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
        endpoint.started(machine.name, machine.starts)
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
    let endpoint = FamilyEndpoint(isLenient: false)
    let trace = try await fleet(endpoint, minutes: 60).run(seed: 1)
    #expect(endpoint.reuses == 0)
    #expect((30...45).contains(endpoint.refreshes), "\(endpoint.refreshes)")
    let calls = trace.calls.filter { $0.url.contains("api.example") }
    #expect((7000...7220).contains(calls.count) && !calls.contains { !$0.hasSucceeded }, "\(calls.count)")
  }

  @Test("With crashes at random moments no refresh token is sent again while its spender runs", arguments: [1])
  func crashes(seed: UInt64) async throws {
    let endpoint = FamilyEndpoint(isLenient: true)
    let trace = try await fleet(endpoint, minutes: 60).run(
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
    let plain = FamilyEndpoint(isLenient: true)
    let trace = try await fleet(plain, minutes: 2).run(seed: 3)
    let first = try #require(trace.requests.first { $0.url.contains("login.example") })
    for step in 0..<10 {
      let endpoint = FamilyEndpoint(isLenient: true)
      let moment = first.time - .milliseconds(20) + .milliseconds(15 * step)
      let faults = (1...20).map {
        SimulatedFault.crash("shop-\($0)", at: max(moment, .zero), restartAfter: .seconds(1))
      }
      let trace = try await fleet(endpoint, minutes: 2).run(seed: 3, faults: .exactly(faults))
      #expect(endpoint.needless == [] && endpoint.reuses <= 1, "step \(step)")
      let calls = trace.calls.filter { $0.url.contains("api.example") && !$0.wasAbandoned }
      let failures = calls.filter { !$0.hasSucceeded }
      #expect(failures.isEmpty, "step \(step): \(failures.prefix(3))")
    }
  }
}
