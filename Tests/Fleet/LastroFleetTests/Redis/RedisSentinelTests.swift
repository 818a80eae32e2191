// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import Lastro
import LastroCurl
import LastroFleet
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

private let one = Array("one".utf8), two = Array("two".utf8)

/// The reply to the greeting, as a server of Redis sends it.
private func greeting(mode: String = "standalone", role: String = "master") -> String {
  let words = ["server", "redis", "mode", mode, "role", role]
  return "*\(words.count + 1)\r\n" + words.map(bulk).joined() + "*0\r\n"
}

private func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

private func place(_ host: String, _ port: String) -> String { "*2\r\n" + bulk(host) + bulk(port) }

/// A server that gives a list of replies, each to one command, and then the last one again.
private func dialer(_ replies: @escaping @Sendable (DialRequest) -> [String]) -> MemoryDialer {
  MemoryDialer { request, stream in
    var rest = replies(request)[...]
    while try await stream.read() != nil, let reply = rest.first {
      try await stream.write(.init(reply.utf8))
      if rest.count > 1 { rest.removeFirst() }
    }
  }
}

private func failure(_ store: RedisStore) async -> FleetStoreError? {
  do throws(FleetStoreError) { _ = try await store.read("a") } catch { return error }
  return nil
}

@Suite("Redis with sentinels", .timeLimit(.minutes(15)))
struct RedisSentinelTests {
  private let engine: CurlTransport

  init() throws { engine = try TestAuthority.engine() }

  /// Returns the address of sentinels, which a store may get as one.
  private func addresses(_ ports: [Int], scheme: String = "redis+sentinel") -> [String] {
    ["\(scheme)://\(ports.map { "127.0.0.1:\($0)" }.joined(separator: ","))/fleet"]
  }

  @Test("The store follows the primary through a failover on demand, and through one after a crash")
  func failover() async throws {
    let first = try await RedisPeer.start()
    let second = try await RedisPeer.start("--replicaof", "127.0.0.1 \(first.port)")
    #expect(await eventually { (try? first.reply("INFO", "replication").contains("state=online")) ?? false })
    // With shorter times, a sentinel on a busy machine gives up a failover halfway, and undoes it.
    let sentinel = try await RedisPeer.startSentinel(
      of: first, "sentinel failover-timeout fleet 15000", "sentinel down-after-milliseconds fleet 3000")
    // A server and a dead address are passed over.
    let store = try RedisStore(
      addresses([second.port, Loopback.freePort(), sentinel.port]), dialer: engine, timeout: .seconds(30))
    #expect(try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(600)).bytes == one)
    #expect(try first.command("EXISTS", "lastro:1:a") == ":1")
    // A primary does not wait until its replicas have a value.
    #expect(await eventually { (try? second.command("EXISTS", "lastro:1:a")) == ":1" })

    #expect(await eventually { (try? sentinel.command("SENTINEL", "FAILOVER", "fleet")) == "+OK" })
    #expect(await isWritten(two, as: "b", by: store, to: second))
    #expect(try await store.read("a").bytes == one)

    #expect(await eventually { (try? first.reply("INFO", "replication").contains("master_link_status:up")) ?? false })
    #expect(await eventually { (try? first.command("EXISTS", "lastro:1:b")) == ":1" })
    second.stop()
    #expect(await isWritten(two, as: "c", by: store, to: first))
    #expect(try await store.read("a").bytes == one)
  }

  /// Returns whether a value that the store writes arrives at a server, after some tries. None may last for long.
  private func isWritten(_ value: [UInt8], as key: String, by store: RedisStore, to peer: RedisPeer) async -> Bool {
    await eventually {
      _ = try? await store.set(key, to: value, ifCurrently: nil, expiresAfter: .seconds(600))
      let isThere = (try? peer.command("EXISTS", "lastro:1:\(key)")) == ":1"
      return isThere && (try? peer.reply("INFO", "replication").contains("role:master")) ?? false
    }
  }

  @Test("Over TLS, the store passes over a sentinel of another authority, a server and a dead address")
  func tls() async throws {
    let certificates = try await PeerCertificates(), others = try await PeerCertificates()
    let primary = try await RedisPeer.start(certificates: certificates)
    let sentinel = try await RedisPeer.startSentinel(of: primary, certificates: certificates)
    let hostile = try await RedisPeer.startSentinel(
      of: try await RedisPeer.start(certificates: others), certificates: others)
    var options = ConnectionOptions()
    options.proxy = .none
    options.tls.roots = .file(certificates.authority)
    func store(_ ports: [Int], _ scheme: String = "rediss+sentinel") throws -> RedisStore {
      try RedisStore(
        addresses(ports, scheme: scheme), dialer: engine, connection: options, timeout: .seconds(30))
    }
    let all = try store([hostile.port, primary.port, Loopback.freePort(), sentinel.port])
    #expect(try await all.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(600)).bytes == one)
    let server = try RedisStore(
      ["rediss://127.0.0.1:\(primary.port)"], dialer: engine, connection: options, timeout: .seconds(30))
    #expect(try await server.read("a").bytes == one)

    let refusal = await failure(try store([hostile.port]))
    #expect(refusal?.code == .unreachable && refusal?.message.contains("certificate") ?? false, "\(refusal as Any)")
    let plain = await failure(try store([sentinel.port], "redis+sentinel"))
    #expect(plain?.code == .unreachable, "\(plain as Any)")
  }

  @Test("A first sentinel that accepts the connection and never responds fails no operation")
  func silent() async throws {
    let clock = ManualClock()
    let value = "*3\r\n" + bulk("x") + bulk("1800000000") + bulk("0")
    let store = try RedisStore(
      ["redis+sentinel://one,two/fleet"],
      dialer: MemoryDialer { request, stream in
        var replies = request.port == 26_379 ? [place("server", "6380")] : [greeting(), value]
        while try await stream.read() != nil {
          if request.host != "one" { try await stream.write(.init(replies.removeFirst().utf8)) }
        }
      }, timeout: .seconds(10), time: clock.timeSource)
    let read = Task { try await store.read("a") }
    // The limits of the operation and of the first reply.
    try await clock.waitForLimits(count: 2)
    clock.advance(by: .seconds(5))
    #expect(try await read.value.bytes == Array("x".utf8))
  }

  @Test("A sentinel gets the password if it requires one, and another name of a primary is refused")
  func password() async throws {
    let primary = try await RedisPeer.start("--requirepass", "hidden-p")
    let sentinel = try await RedisPeer.startSentinel(
      of: primary, "requirepass hidden-p", "sentinel auth-pass fleet hidden-p")
    let store = try RedisStore(
      addresses([sentinel.port]), dialer: engine, password: "hidden-p", timeout: .seconds(10))
    #expect(try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60)).bytes == one)
    let wrong = try RedisStore(addresses([sentinel.port]), dialer: engine, password: "hidden-q", timeout: .seconds(30))
    #expect(await failure(wrong)?.message.hasSuffix("user or password is missing or wrong") == true)
    let other = try RedisStore(
      ["redis+sentinel://127.0.0.1:\(sentinel.port)/other"], dialer: engine, password: "hidden-p",
      timeout: .seconds(30))
    #expect(await failure(other)?.message.hasSuffix("/other knows no primary of that name") == true)
  }

  @Test("A sentinel without a password does not get that of the servers")
  func noPassword() async throws {
    let commands = Lock<[String]>([])
    let dialer = MemoryDialer { request, stream in
      while let bytes = try await stream.read() {
        commands.withLock { $0.append("\(request.port): " + String(decoding: bytes, as: UTF8.self)) }
        try await stream.write(.init((request.port == 26_379 ? place("10.0.0.7", "6380") : "-ERR\r\n").utf8))
      }
    }
    let store = try RedisStore(
      ["redis+sentinel://one/fleet"], dialer: dialer, password: "hidden-p", timeout: .seconds(30))
    #expect(await failure(store)?.message == "redis://10.0.0.7:6380 refused the operation: it replied with ERR")
    let all = commands.withLock { $0 }
    #expect(all.map { $0.contains("hidden-p") } == [false, true], "\(all)")
  }

  @Test("A server is mistaken neither for a sentinel nor a sentinel for a server")
  func confused() async throws {
    let primary = try await RedisPeer.start()
    let sentinel = try await RedisPeer.startSentinel(of: primary)
    let server = try RedisStore(["redis://127.0.0.1:\(sentinel.port)"], dialer: engine, timeout: .seconds(10))
    let error = await failure(server)
    #expect(error?.message.hasSuffix("it is a sentinel") == true, "\(String(describing: error))")
    let asked = try RedisStore(addresses([primary.port]), dialer: engine, timeout: .seconds(10))
    #expect(await failure(asked)?.message.hasSuffix("/fleet is not a sentinel") == true)
  }

  @Test("Invalid replies of a sentinel cost the operation, with an error, and the next sentinel is asked")
  func hostile() async throws {
    let cases: [(reply: String, code: FleetStoreError.Code)] = [
      ("+OK\r\n", .invalidReply), (":1\r\n", .invalidReply), ("*0\r\n", .invalidReply), ("!\r\n", .invalidReply),
      ("*1\r\n" + bulk("a"), .invalidReply), ("*3\r\n" + bulk("a") + bulk("1") + bulk("b"), .invalidReply),
      ("*2\r\n:1\r\n:2\r\n", .invalidReply), ("*2\r\n*-1\r\n" + bulk("1"), .invalidReply),
      (place("a", "0"), .invalidReply), (place("a", "65536"), .invalidReply), (place("a", "-1"), .invalidReply),
      (place("a,b", "1"), .invalidReply), (place("a", ""), .invalidReply), (place("", "1"), .invalidReply),
      (place("a b", "1"), .invalidReply), (place("a@b", "1"), .invalidReply), (place("a/b", "1"), .invalidReply),
      (place("a\r\nb", "1"), .invalidReply), (place("[::1", "1"), .invalidReply),
      (place("a", "1") + "+OK\r\n", .invalidReply),
      ("*-1\r\n", .refused), ("$-1\r\n", .refused), ("-ERR unknown command\r\n", .refused),
      ("-IDONTKNOW\r\n", .refused), ("-NOAUTH\r\n", .refused),
    ]
    for (reply, code) in cases {
      let alone = try RedisStore(
        ["redis+sentinel://one/fleet"], dialer: dialer { $0.port == 26_379 ? [reply] : ["+OK\r\n"] },
        timeout: .seconds(30))
      let error = await failure(alone)
      #expect(error?.code == code, "\(reply.debugDescription): \(String(describing: error))")
      let value = "*3\r\n" + bulk("x") + bulk("1800000000") + bulk("0")
      let both = try RedisStore(
        ["redis+sentinel://one,two/fleet"],
        dialer: dialer { request in
          if request.port == 6_380 { return [greeting(), value] }
          return request.host == "one" ? [reply] : [place("::1", "6380")]
        }, timeout: .seconds(30))
      #expect(try await both.read("a").bytes == Array("x".utf8), "\(reply.debugDescription)")
    }
  }

  @Test("A sentinel that names a replica, another sentinel or itself is asked a bounded number of times")
  func misled() async throws {
    let dials = Lock(0)
    for (mode, role) in [("standalone", "replica"), ("sentinel", ""), ("cluster", "master")] {
      dials.withLock { $0 = 0 }
      let store = try RedisStore(
        ["redis+sentinel://one/fleet"],
        dialer: dialer { request in
          dials.withLock { $0 += 1 }
          return request.host == "one" && request.port == 26_379
            ? [place("two", "26379")] : [greeting(mode: mode, role: role)]
        })
      #expect(await failure(store)?.code == .refused)
      // A slow machine may have time for a second try.
      #expect((2...4).contains(dials.withLock { $0 }))
    }
  }

  @Test("Sentinels are asked again if the primary refuses as a replica")
  func staleSentinel() async throws {
    let value = "*3\r\n" + bulk("x") + bulk("1800000000") + bulk("0")
    let asked = Lock(0)
    let store = try RedisStore(
      ["redis+sentinel://one/fleet"],
      dialer: dialer { request in
        guard request.port == 26_379 else {
          return [greeting(), request.port == 1 ? "-READONLY You can't write against a read only replica.\r\n" : value]
        }
        let number = asked.withLock { asked in
          asked += 1
          return asked
        }
        return [place("two", "\(number)")]
      }, timeout: .seconds(30))
    #expect(try await store.read("a").bytes == Array("x".utf8))
    #expect(asked.withLock { $0 } == 2)
  }

  @Test("A server of a cluster is refused by name, also if it has all slots, and so are redirections")
  func cluster() async throws {
    let peer = try await RedisPeer.start("--cluster-enabled", "yes")
    for hasSlots in [false, true] {
      if hasSlots {
        try peer.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        #expect(await eventually { (try? peer.reply("CLUSTER", "INFO").contains("cluster_state:ok")) ?? false })
      }
      let error = await failure(
        try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: engine, timeout: .seconds(30)))
      #expect(
        error?.message.hasSuffix("it is part of a cluster, which is not supported") == true,
        "\(String(describing: error))")
      #expect(error?.code == .refused && error?.hint != nil)
    }
    for reply in ["MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381", "CROSSSLOT Keys in request", "CLUSTERDOWN"] {
      let store = try RedisStore(
        ["redis://one"], dialer: dialer { _ in [greeting(), "-\(reply)\r\n"] }, timeout: .seconds(30))
      #expect(await failure(store)?.message.hasSuffix("it is part of a cluster, which is not supported") == true)
    }
  }

  @Test("Addresses of sentinels without a valid name of a primary are refused when the store is made")
  func configuration() {
    for address in ["redis+sentinel://a", "redis+sentinel://a/", "redis+sentinel://a/b/c", "rediss+sentinel://a/b c"] {
      let error = #expect(throws: ConfigurationError.self) { try RedisStore([address], dialer: engine) }
      #expect(error?.message == "the sentinel's address has no valid name of a primary")
    }
    for address in [
      "redis+sentinel://u:p@a/b", "redis+sentinel://a,u:p@b/c", "sentinel://a/b", "redis+sentinel:///a", "redis://a,",
      "redis+sentinel://a,/b", "rediss+sentinel://a,,b/c", "redis+sentinel://a/b,c/d", "redis+sentinel://a:0,b/c",
    ] {
      #expect(throws: ConfigurationError.self, "\(address)") { try RedisStore([address], dialer: engine) }
    }
  }
}
