// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import HTTPTypes
import Lastro
import LastroEveryday
import LastroFleet
import LastroObservability
import LastroResilience
import LastroSupport
import LastroTesting
import Logging
import MetricsTestKit
import PeerSupport
import TestSupport
import Testing

/// A source whose tokens last for a second, so that the store is needed all the time.
private struct ShortSource: AccessTokenSource {
  let count = Lock(0)

  func token(replacing old: AccessToken?) async throws -> AccessToken {
    let number = count.withLock { count in
      count += 1
      return count
    }
    return try AccessToken(
      Secret("hidden-a\(number)"), expiresIn: .seconds(1), refreshToken: Secret("hidden-r\(number)"))
  }
}

@Suite("A store behind a cut link", .needsNamespaces, .timeLimit(.minutes(15)))
struct PartitionTests {
  private static let states = ["token", "quota", "circuits", "cache"]

  /// An instance that shares all that it can, over a server that works.
  private struct Instance {
    let stack: TransportNetworkStack
    let log = LogLines()
    let metrics = TestMetrics()
    /// The notes of all calls about stores.
    let notes = Lock<[TransferFacts.Note]>([])
    let calls = Lock(0)

    init(_ host: String) throws {
      let log = log
      let logger = Logger(label: "fleet") { _ in log }
      let store = try RedisStore(["redis://\(host)"], dialer: try TestAuthority.engine(), timeout: .milliseconds(500))
      let key = try SealingKey(base64: Secret(testKey))
      let tokens = try ShortSource().shared(
        in: store, as: "api", sealedWith: key, patience: .milliseconds(100), logger: logger)
      var configuration = StackConfiguration(interceptors: [
        try BearerAuthenticator(
          source: tokens, origins: [Origin("https://api.example")], leeway: .zero, maximumRefreshes: nil)
      ])
      configuration.cache = try HTTPCache().shared(in: store, as: "api", sealedWith: key, logger: logger)
      configuration.resilience = Resilience(
        pacer: try Pacer(perSecond: 500, burst: 500).shared(
          in: store, as: "api", whenUnshared: .fraction(of: 2), logger: logger),
        breaker: try CircuitBreaker().shared(in: store, as: "api", logger: logger))
      configuration.observers = [.metrics(factory: metrics)]
      stack = TransportNetworkStack(
        transport: ScriptedTransport(
          repeatingLast: .respond(status: 200, headers: [.cacheControl: "private, max-age=60"])),
        configuration: configuration)
    }

    /// Makes a call, which must not fail.
    func call() async throws {
      let number = calls.withLock { calls in
        calls += 1
        return calls
      }
      let value = try await stack.fetch(
        RawHTTPResource.raw(try ResourceRequest(url: "https://api.example/\(number)")))
      let found = value.response.ledger.attempts.flatMap { $0.facts?.notes ?? [] }.filter { $0.name == "fleet" }
      notes.withLock { $0 += found }
    }

    /// The lines about one of the shared states.
    func lines(_ state: String) -> [String] { log.all.filter { $0.contains("of the shared \(state) api ") } }

    /// Makes calls until the last line about each state has a level. Returns false if that takes too long.
    func calls(untilEachIs level: String) async throws -> Bool {
      let deadline = ContinuousClock.now + .seconds(240)
      while !PartitionTests.states.allSatisfy({ lines($0).last?.hasPrefix(level) ?? false }) {
        guard ContinuousClock.now < deadline else { return false }
        try await call()
        try await Task.sleep(for: .milliseconds(5))
      }
      return true
    }
  }

  @Test("No call fails while packets to the store are lost; loss and return are reported once each, and heal")
  func cut() async throws {
    let peer = try await DistantRedisPeer.start()
    let one = try Instance(peer.host)
    for _ in 0..<20 { try await one.call() }
    for _ in 0..<2 {
      try await peer.setLink(isUp: false)
      #expect(try await one.calls(untilEachIs: "warning"), "\(one.log.all)")
      let count = one.log.all.count
      for _ in 0..<100 { try await one.call() }
      #expect(one.log.all.count == count, "\(one.log.all)")
      try await peer.setLink(isUp: true)
      #expect(try await one.calls(untilEachIs: "notice"), "\(one.log.all)")
    }
    for state in Self.states {
      let lines = one.lines(state)
      #expect(lines.count >= 4 && lines.count % 2 == 0, "\(lines)")
      for (index, line) in lines.enumerated() {
        #expect(line.hasPrefix(index % 2 == 0 ? "warning" : "notice"), "\(lines)")
      }
    }
    try await one.call()
    let notes = one.notes.withLock { $0.map(\.detail) }
    for detail in ["store_lost", "store_back"] {
      #expect(notes.count { $0 == detail } == one.log.all.count / 2, "\(notes) \(one.log.all)")
    }
    let changes = one.metrics.counters.filter { $0.label == "lastro.client.fleet.changes" }
    #expect(changes.reduce(0) { $0 + $1.totalValue } == one.log.all.count, "\(one.log.all)")
  }
}
