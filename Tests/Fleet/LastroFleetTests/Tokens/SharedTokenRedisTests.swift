// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Lastro
import LastroFleet
import LastroSupport
import Logging
import PeerSupport
import Testing

/// Issues tokens, and records the refresh tokens that were spent.
private struct CountingSource: AccessTokenSource {
  let spent: Lock<[String?]>

  func token(replacing old: AccessToken?) async throws -> AccessToken {
    let number = spent.withLock { spent in
      spent.append(old?.refreshToken?.reveal())
      return spent.count
    }
    return try AccessToken(Secret("a\(number)"), expiresIn: .seconds(600), refreshToken: Secret("r\(number)"))
  }
}

@Suite("Redis: one token for several instances", .timeLimit(.minutes(15)))
struct SharedTokenRedisTests {
  private let spent = Lock<[String?]>([])

  /// Returns an instance with a connection of its own.
  private func instance(_ peer: RedisPeer, timeout: Duration, patience: Duration) throws -> any AccessTokenSource {
    let store = try RedisStore(
      ["redis://127.0.0.1:\(peer.port)"], dialer: try TestAuthority.engine(), timeout: timeout)
    return try CountingSource(spent: spent).shared(
      in: store, as: "api", sealedWith: SealingKey(base64: Secret(testKey)), patience: patience,
      logger: Logger(label: "fleet") { _ in SwiftLogNoOpLogHandler() })
  }

  @Test("Ten instances that begin at once, and then replace the token at once, send two requests")
  func shared() async throws {
    let peer = try await RedisPeer.start()
    // On a busy machine, the server may respond late.
    let instances = try (0..<10).map { _ in try instance(peer, timeout: .seconds(60), patience: .seconds(60)) }
    var old: AccessToken?
    for round in 1...2 {
      let held = old
      let tokens = try await withThrowingTaskGroup(of: AccessToken.self) { group in
        for instance in instances { group.addTask { try await instance.token(replacing: held) } }
        return try await group.reduce(into: [AccessToken]()) { $0.append($1) }
      }
      #expect(Set(tokens.map(\.value)) == [Secret("a\(round)")])
      old = tokens.first
    }
    #expect(spent.withLock { $0 } == [nil, "r1"])
  }

  @Test("A server that is killed, stopped or full does not fail a refresh, and its return shares the newest pair")
  func losses() async throws {
    let peer = try await RedisPeer.start("--maxmemory-policy", "noeviction")
    let one = try instance(peer, timeout: .milliseconds(500), patience: .milliseconds(100))
    var token = try await one.token(replacing: nil)
    try peer.command("CONFIG", "SET", "maxmemory", "1")
    token = try await one.token(replacing: token)
    #expect(token.value == "a2")
    try peer.command("CONFIG", "SET", "maxmemory", "0")
    peer.pause()
    token = try await one.token(replacing: token)
    #expect(token.value == "a3")
    peer.resume()
    peer.stop()
    token = try await one.token(replacing: token)
    #expect(token.value == "a4")
    try await peer.restart()
    let deadline = ContinuousClock.now + .seconds(60)
    while try peer.command("EXISTS", "lastro:1:token:api") != ":1", ContinuousClock.now < deadline {
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(try await instance(peer, timeout: .seconds(60), patience: .seconds(60)).token(replacing: nil).value == "a4")
    #expect(spent.withLock { $0 } == [nil, "r1", "r2", "r3"])
  }
}
