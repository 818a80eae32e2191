// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Lastro
import LastroFleet
import LastroResilience
import LastroSupport
import LastroTesting
import Logging
import PeerSupport
import TestSupport
import Testing

@Suite("Redis: one quota for several instances", .timeLimit(.minutes(15)))
struct QuotaRedisTests {
  /// Returns a stack of an instance with a connection of its own, and its log.
  private func instance(
    _ peer: RedisPeer, perSecond: Double, burst: Int, _ whenUnshared: WhenUnshared, timeout: Duration = .seconds(60)
  ) throws -> (stack: TransportNetworkStack, log: LogLines) {
    let store = try RedisStore(
      ["redis://127.0.0.1:\(peer.port)"], dialer: try TestAuthority.engine(), timeout: timeout)
    let log = LogLines()
    var configuration = StackConfiguration()
    configuration.resilience = Resilience(
      pacer: try Pacer(perSecond: perSecond, burst: burst).shared(
        in: store, as: "api", whenUnshared: whenUnshared, logger: Logger(label: "fleet") { _ in log }))
    return (
      TransportNetworkStack(
        transport: ScriptedTransport(repeatingLast: .respond(status: 200)), configuration: configuration), log
    )
  }

  private func call(_ stack: TransportNetworkStack) async throws {
    _ = try await stack.fetch(RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/")))
  }

  @Test("Ten instances that send as much as they may send no more than the quota", arguments: [true, false])
  func quota(_ hasFractions: Bool) async throws {
    let peer = try await RedisPeer.start()
    let instances = try (0..<10).map { _ in
      try instance(peer, perSecond: 200, burst: 200, hasFractions ? .fraction(of: 10) : .wait)
    }
    let start = ContinuousClock.now
    try await withThrowingTaskGroup { group in
      for instance in instances { group.addTask { for _ in 0..<60 { try await call(instance.stack) } } }
      try await group.waitForAll()
    }
    // Of 600 requests, the burst and one of each instance need not wait.
    #expect(ContinuousClock.now - start >= .seconds(Double(600 - 200 - 10) / 200))
    #expect(instances.allSatisfy { $0.log.all.isEmpty })
  }

  @Test("An instance uses what nine idle ones lend it")
  func lent() async throws {
    let peer = try await RedisPeer.start()
    let instances = try (0..<10).map { _ in try instance(peer, perSecond: 300, burst: 300, .fraction(of: 10)) }
    let start = ContinuousClock.now
    var count = 0.0
    // Its fraction is 30 a second, and the stock begins with 75.
    while count < 300, ContinuousClock.now - start < .seconds(60) {
      try await call(instances[0].stack)
      count += 1
    }
    let own = 75 + 30 * ((ContinuousClock.now - start) / .seconds(1))
    #expect(count > own, "\(own)")
  }

  @Test("A server that is killed, stopped or full fails no call, and the loss is logged once")
  func losses() async throws {
    let peer = try await RedisPeer.start("--maxmemory-policy", "noeviction")
    let one = try instance(peer, perSecond: 50, burst: 50, .fraction(of: 2), timeout: .milliseconds(500))
    func expectLoss(_ number: Int) async throws {
      #expect(try await eventuallyCalling(one) { $0.count == 2 * number - 1 }, "\(one.log.all)")
    }
    func expectReturn(_ number: Int) async throws {
      #expect(try await eventuallyCalling(one) { $0.count == 2 * number }, "\(one.log.all)")
    }
    try await call(one.stack)
    try peer.command("CONFIG", "SET", "maxmemory", "1")
    try await expectLoss(1)
    try peer.command("CONFIG", "SET", "maxmemory", "0")
    try await expectReturn(1)
    peer.pause()
    try await expectLoss(2)
    peer.resume()
    try await expectReturn(2)
    peer.stop()
    try await expectLoss(3)
    try await peer.restart()
    try await expectReturn(3)
    #expect(one.log.all.map { $0.prefix(7) } == Array(repeating: ["warning", "notice:"], count: 3).flatMap(\.self))
  }

  /// Makes calls, none of which may fail, until the log has changed as expected.
  private func eventuallyCalling(
    _ instance: (stack: TransportNetworkStack, log: LogLines), _ isMet: ([String]) -> Bool
  ) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(60)
    while !isMet(instance.log.all) {
      guard ContinuousClock.now < deadline else { return false }
      try await call(instance.stack)
    }
    return true
  }
}
