// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroSupport
import LastroTesting
import Logging
import PeerSupport
import TestSupport
import Testing

@testable import LastroFleet

@Suite("Redis: one cache for several instances", .timeLimit(.minutes(15)))
struct SharedCacheRedisTests {
  private struct Instance {
    let stack: TransportNetworkStack
    let cache: HTTPCache
    let log = LogLines()

    init(
      _ peer: RedisPeer, _ origin: ScriptedTransport, _ dialer: CurlTransport, timeout: Duration = .seconds(60)
    ) throws {
      let store = try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: dialer, timeout: timeout)
      let log = log
      cache = try HTTPCache().shared(
        in: store, as: "shop", sealedWith: SealingKey(base64: Secret(testKey)),
        logger: Logger(label: "fleet") { _ in log })
      var configuration = StackConfiguration()
      configuration.cache = cache
      stack = TransportNetworkStack(transport: origin, configuration: configuration)
    }

    @discardableResult
    func get(_ path: String = "a") async throws -> (body: String, outcome: CacheOutcome?) {
      let value = try await stack.fetch(RawHTTPResource.test(url: "https://example.com/\(path)"))
      await (cache.store as? SharedCacheStore)?.settled()
      return (String(decoding: value.value, as: UTF8.self), value.response.facts.cache)
    }
  }

  private let dialer: CurlTransport

  init() throws { dialer = try TestAuthority.engine() }

  private func origin(_ fields: HTTPFields = [.cacheControl: "max-age=600"]) -> ScriptedTransport {
    ScriptedTransport { (_, number) throws(TransportError) in
      .answer(200, fields: fields, body: "body \(number)" + String(repeating: "x", count: 100_000))
    }
  }

  @Test("Instances share responses, removals and requests at once, under keys that expire")
  func shared() async throws {
    let peer = try await RedisPeer.start()
    let gate = Watched(false)
    let origin = ScriptedTransport { (_, number) throws(TransportError) in
      if number == 0 { _ = await gate.wait { $0 } }
      return .answer(200, fields: [.cacheControl: "max-age=600"], body: "body \(number)")
    }
    let instances = try (0..<10).map { _ in try Instance(peer, origin, dialer) }
    let bodies = try await withThrowingTaskGroup(of: String.self) { group in
      for instance in instances { group.addTask { try await instance.get().body } }
      // The epoch, the lease, and nothing else yet.
      #expect(await eventually { (try? peer.command("DBSIZE")) == ":2" })
      gate.change { $0 = true }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    // An instance whose wait was over has asked the server itself.
    #expect(bodies.contains("body 0") && origin.requests.count == bodies.count)
    let before = origin.requests.count
    let new = try Instance(peer, origin, dialer)
    #expect(try await new.get().outcome == .hit)
    try await instances[3].cache.remove("https://example.com/a")
    #expect(try await Instance(peer, origin, dialer).get().outcome == .missed)
    #expect(origin.requests.count == before + 1)
    for key in try peer.reply("KEYS", "*").split(separator: "\r\n") where key.hasPrefix("lastro:") {
      #expect(key.hasPrefix("lastro:1:cache:shop:"))
      let left = try #require(Int(try peer.command("PTTL", String(key)).dropFirst()))
      #expect(left > 0)
    }
    #expect(instances.allSatisfy { $0.log.all.isEmpty })
  }

  @Test("A server that is killed, stopped or full fails no call, and the loss is logged once")
  func losses() async throws {
    let peer = try await RedisPeer.start("--maxmemory-policy", "noeviction")
    let origin = origin()
    let one = try Instance(peer, origin, dialer, timeout: .milliseconds(500))
    let number = Lock(0)
    /// Makes calls, none of which may fail, until the log has as many lines as expected.
    func expectLines(_ count: Int) async throws {
      let deadline = ContinuousClock.now + .seconds(120)
      while one.log.all.count < count, ContinuousClock.now < deadline {
        let path = number.withLock { number in
          number += 1
          return number
        }
        let got = try await one.get("\(path)")
        #expect(got.outcome == .missed)
        #expect(try await one.get("\(path)").body == got.body)
      }
      #expect(one.log.all.count == count, "\(one.log.all)")
    }
    #expect(try await one.get().outcome == .missed)
    try peer.command("CONFIG", "SET", "maxmemory", "1")
    try await expectLines(1)
    try peer.command("CONFIG", "SET", "maxmemory", "0")
    try await expectLines(2)
    peer.pause()
    try await expectLines(3)
    peer.resume()
    try await expectLines(4)
    peer.stop()
    try await expectLines(5)
    try await peer.restart()
    try await expectLines(6)
    #expect(one.log.all.map { $0.prefix(7) } == Array(repeating: ["warning", "notice:"], count: 3).flatMap(\.self))
    #expect(one.log.all[0].contains("refuses changes") && one.log.all[2].contains("is lost"))
    // The data of the killed server is gone, and new responses are shared again.
    let body = try await one.get("new").body
    let other = try await Instance(peer, origin, dialer).get("new")
    #expect(other.outcome == .hit && other.body == body)
  }

  @Test("A server that evicts records loses responses, and revives none that were removed")
  func evicting() async throws {
    let peer = try await RedisPeer.start("--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random")
    let origin = origin()
    let one = try Instance(peer, origin, dialer)
    /// The bodies since the latest removal.
    var bodies: [Int: Set<String>] = [:]
    for round in 0..<3 {
      for path in 0..<40 {
        if round > 0, path % 2 == 0 {
          try await one.cache.remove("https://example.com/\(path)")
          bodies[path] = nil
          #expect(try await one.get("\(path)").outcome == .missed)
        }
        bodies[path, default: []].insert(try await one.get("\(path)").body)
        guard path % 4 < 2 else { continue }
        let other = try await Instance(peer, origin, dialer).get("\(path)")
        #expect(other.outcome == .missed || bodies[path]?.contains(other.body) ?? false)
        bodies[path, default: []].insert(other.body)
      }
    }
    let statistics = try peer.reply("INFO", "stats")
    #expect(statistics.contains("evicted_keys:") && !statistics.contains("evicted_keys:0\r\n"))
  }
}
