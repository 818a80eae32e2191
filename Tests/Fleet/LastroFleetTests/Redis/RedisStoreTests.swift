// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import Lastro
import LastroCurl
import LastroFleet
import LastroSupport
import LastroTesting
import PeerSupport
import Testing

/// Reads and changes a store until an operation succeeds, because a server needs a moment after it was started.
private func eventually(_ body: () async throws(FleetStoreError) -> StoredValue) async throws -> StoredValue {
  let deadline = ContinuousClock.now + .seconds(60)
  while true {
    do throws(FleetStoreError) { return try await body() } catch {
      guard ContinuousClock.now < deadline else { throw error }
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}

private func failure(_ body: () async throws(FleetStoreError) -> StoredValue) async -> FleetStoreError? {
  do throws(FleetStoreError) { _ = try await body() } catch { return error }
  return nil
}

private let one = Array("one".utf8), two = Array("two".utf8)

@Suite("Redis as a store", .timeLimit(.minutes(15)))
struct RedisStoreTests {
  private let dialer: CurlTransport

  init() throws { dialer = try TestAuthority.engine() }

  @Test("A value is changed only if it is the expected one, and repeating a change is a success")
  func compareAndSet() async throws {
    let peer = try await RedisPeer.start()
    let store = try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: dialer, timeout: .seconds(30))
    #expect(try await store.read("a").bytes == nil)
    #expect(try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60)).bytes == one)
    #expect(try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60)).bytes == one)
    #expect(try await store.set("a", to: two, ifCurrently: nil, expiresAfter: .seconds(60)).bytes == one)
    #expect(try await store.set("a", to: two, ifCurrently: two, expiresAfter: .seconds(60)).bytes == one)
    #expect(try await store.set("a", to: two, ifCurrently: one, expiresAfter: .seconds(60)).bytes == two)
    let read = try await store.read("a")
    #expect(read.bytes == two)
    #expect(read.time > .seconds(1_700_000_000))
  }

  @Test("Keys have a prefix with a version, and expire")
  func keys() async throws {
    let peer = try await RedisPeer.start()
    let store = try RedisStore(
      ["redis://127.0.0.1:\(peer.port)"], dialer: dialer, prefix: "shop", timeout: .seconds(30))
    _ = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(1000))
    #expect(try peer.reply("KEYS", "*").hasPrefix("*1\r\n$8\r\nshop:1:a\r\n"))
    let left = try #require(Int(try peer.command("PTTL", "shop:1:a").dropFirst()))
    #expect((1...1_000_000).contains(left))
    _ = try await store.set("a", to: two, ifCurrently: one, expiresAfter: .milliseconds(1))
    let deadline = ContinuousClock.now + .seconds(30)
    while try await store.read("a").bytes != nil, ContinuousClock.now < deadline {}
    #expect(try await store.read("a").bytes == nil)
  }

  @Test("Binary values of any size up to a megabyte are returned unchanged")
  func binary() async throws {
    let peer = try await RedisPeer.start()
    let store = try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: dialer, timeout: .seconds(30))
    for count in [0, 1, 255, 1 << 20] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      _ = try await store.set("size-\(count)", to: bytes, ifCurrently: nil, expiresAfter: .seconds(60))
      #expect(try await store.read("size-\(count)").bytes == bytes)
    }
  }

  @Test("Of many instances that change a value at once, one succeeds; all use one connection")
  func pipelining() async throws {
    let peer = try await RedisPeer.start()
    let store = try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: dialer, timeout: .seconds(30))
    let winners = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        group.addTask {
          let value = Array("\(number)".utf8)
          return try await store.set("a", to: value, ifCurrently: nil, expiresAfter: .seconds(60)).bytes == value
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(winners == 1)
    // The connection of the store, and that of the question.
    #expect(try peer.reply("INFO", "clients").contains("connected_clients:2\r\n"))
  }

  @Test("A server that has forgotten the scripts gets them again")
  func flushedScripts() async throws {
    let peer = try await RedisPeer.start()
    let store = try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: dialer, timeout: .seconds(30))
    _ = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
    try peer.command("SCRIPT", "FLUSH")
    #expect(try await store.read("a").bytes == one)
    #expect(try await store.read("a").bytes == one)
  }

  @Test("A Unix socket works like a port")
  func unixSocket() async throws {
    let peer = try await RedisPeer.start()
    let store = try RedisStore(["unix:\(peer.socket)"], dialer: dialer, timeout: .seconds(30))
    _ = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
    #expect(try await store.read("a").bytes == one)
  }

  @Test("TLS verifies the server's certificate")
  func tls() async throws {
    let certificates = try await PeerCertificates()
    let peer = try await RedisPeer.start(certificates: certificates)
    var options = ConnectionOptions()
    options.proxy = .none
    options.tls.roots = .file(certificates.authority)
    let address = "rediss://localhost:\(peer.port)"
    let store = try RedisStore([address], dialer: dialer, connection: options, timeout: .seconds(30))
    _ = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
    #expect(try await store.read("a").bytes == one)

    options.tls.roots = .file(certificates.stranger)
    let wary = try RedisStore([address], dialer: dialer, connection: options, timeout: .seconds(30))
    let error = await failure { () async throws(FleetStoreError) in try await wary.read("a") }
    #expect(
      error?.code == .unreachable && error?.message.contains("certificate") == true, "\(String(describing: error))")
  }

  @Test("An ACL user with the documented rights suffices, and wrong passwords are refused without being shown")
  func user() async throws {
    let peer = try await RedisPeer.start(
      "--user", "default", "off", "--user", "fleet", "on", ">hidden-p", "~lastro:*", "+eval", "+evalsha", "+get",
      "+set",
      "+time")
    let address = "redis://127.0.0.1:\(peer.port)"
    let store = try RedisStore([address], dialer: dialer, user: "fleet", password: "hidden-p", timeout: .seconds(30))
    _ = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
    #expect(try await store.read("a").bytes == one)

    let wrong = try RedisStore(address, dialer: dialer, user: "fleet", password: "hidden-q")
    let error = await failure { () async throws(FleetStoreError) in try await wrong.read("a") }
    #expect(
      error?.description
        == "refused: \(address) refused the operation: user or password is missing or wrong"
        + " (check the parameters user and password)")
    #expect(error?.localizedDescription == error?.description)
    let none = try RedisStore([address], dialer: dialer, timeout: .seconds(30))
    let missing = await failure { () async throws(FleetStoreError) in try await none.read("a") }
    #expect(missing?.code == .refused)
    let other = try RedisStore(
      [address], dialer: dialer, user: "fleet", password: "hidden-p", prefix: "other")
    let refusal = await failure { () async throws(FleetStoreError) in try await other.read("a") }
    #expect(refusal?.message.contains("the user may not do this") == true)
  }

  @Test("After a restart the store connects again, and while the server is down, operations fail as unreachable")
  func restart() async throws {
    let peer = try await RedisPeer.start()
    let store = try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: dialer, timeout: .seconds(30))
    _ = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
    peer.stop()
    let error = await failure { () async throws(FleetStoreError) in try await store.read("a") }
    #expect(error?.code == .unreachable)
    try await peer.restart()
    let value = try await eventually { () async throws(FleetStoreError) in try await store.read("a") }
    #expect(value.bytes == nil)
  }

  @Test("A server that is stopped makes operations fail in time, and is used again when it continues")
  func paused() async throws {
    let peer = try await RedisPeer.start()
    let store = try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: dialer, timeout: .milliseconds(200))
    _ = try await eventually { () async throws(FleetStoreError) in
      try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
    }
    peer.pause()
    let error = await failure { () async throws(FleetStoreError) in try await store.read("a") }
    peer.resume()
    #expect(error?.code == .timedOut, "\(String(describing: error))")
    let value = try await eventually { () async throws(FleetStoreError) in try await store.read("a") }
    #expect(value.bytes == one)
  }

  @Test(
    "A change whose response was lost succeeds if its value is found, and fails if another one is, which may have followed"
  )
  func interruptedChange() async throws {
    for (found, isOwn) in [(one, true), (two, false)] {
      let dials = Lock(0)
      let server = MemoryDialer { _, stream in
        let dial = dials.withLock { count in
          count += 1
          return count
        }
        _ = try await stream.read()
        try await stream.write(.init("*4\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n".utf8))
        while try await stream.read() != nil {
          // The first connection ends after the command.
          if dial == 1 { return }
          let reply = Array("*3\r\n$3\r\n".utf8) + found + Array("\r\n$1\r\n7\r\n$1\r\n0\r\n".utf8)
          try await stream.write(.init(reply))
        }
      }
      let store = try RedisStore("redis://localhost", dialer: server)
      func change() async throws(FleetStoreError) -> StoredValue {
        try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
      }
      if isOwn {
        #expect(try await change().bytes == one)
      } else {
        let error = await failure(change)
        #expect(error?.code == .unreachable, "\(String(describing: error))")
      }
      #expect(dials.withLock { $0 } == 2)
      // A change that was not interrupted says what it has found, and so does a read.
      #expect(try await change().bytes == found)
      #expect(try await store.read("a").bytes == found)
    }
  }

  @Test("With several addresses, dead servers and replicas are passed over, and a promoted replica is used")
  func failover() async throws {
    let primary = try await RedisPeer.start()
    let replica = try await RedisPeer.start("--replicaof", "127.0.0.1 \(primary.port)")
    let dead = try Loopback.freePort()
    let store = try RedisStore(
      [dead, replica.port, primary.port].map { "redis://127.0.0.1:\($0)" }, dialer: dialer, timeout: .seconds(10))
    let set = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(600))
    #expect(set.bytes == one)
    #expect(try primary.command("EXISTS", "lastro:1:a") == ":1")
    let deadline = ContinuousClock.now + .seconds(60)
    while try replica.command("EXISTS", "lastro:1:a") != ":1", ContinuousClock.now < deadline {}
    primary.stop()
    try replica.command("REPLICAOF", "NO", "ONE")
    let value = try await eventually { () async throws(FleetStoreError) in try await store.read("a") }
    #expect(value.bytes == one)
  }

  @Test("A store whose memory is full refuses changes and keeps what it has")
  func memory() async throws {
    let peer = try await RedisPeer.start("--maxmemory-policy", "noeviction")
    let store = try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: dialer, timeout: .seconds(30))
    _ = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
    try peer.command("CONFIG", "SET", "maxmemory", "1")
    let error = await failure { () async throws(FleetStoreError) in
      try await store.set("a", to: two, ifCurrently: one, expiresAfter: .seconds(60))
    }
    #expect(error?.code == .refused && error?.message.hasSuffix("its memory is full") == true)
    #expect(try await store.read("a").bytes == one)
  }

  @Test("A server that does not speak RESP is recognized, and replies without a command are refused")
  func strangers() async throws {
    for reply in ["HTTP/1.1 400 Bad Request\r\n\r\n", "+OK\r\n+OK\r\n", "$17000000\r\n", "*2\r\n+a\r\n+b\r\n"] {
      let stranger = MemoryDialer { _, stream in
        _ = try await stream.read()
        try await stream.write(.init(reply.utf8))
        while try await stream.read() != nil {}
      }
      let store = try RedisStore("redis://localhost", dialer: stranger)
      let error = await failure { () async throws(FleetStoreError) in try await store.read("a") }
      #expect(error?.code == .invalidReply, "\(reply.debugDescription): \(String(describing: error))")
    }
  }

  @Test("A cancelled operation ends at once, and the connection stays usable")
  func cancellation() async throws {
    let peer = try await RedisPeer.start()
    let store = try RedisStore(["redis://127.0.0.1:\(peer.port)"], dialer: dialer, timeout: .seconds(60))
    _ = try await store.set("a", to: one, ifCurrently: nil, expiresAfter: .seconds(60))
    peer.pause()
    let task = Task { await failure { () async throws(FleetStoreError) in try await store.read("a") } }
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    peer.resume()
    #expect(try await store.read("a").bytes == one)
  }

  @Test("Values that cannot work are refused when the store is made")
  func configuration() {
    let cases: [([String], String)] = [
      ([], "the store has no address"),
      (["http://a"], "the store's address has an unknown scheme"),
      (["redis://user:hidden@a"], "the store's address has user information in it"),
      (["redis://a:99999"], "the store's address is invalid: port 99999 in the URL is not a number from 1 to 65535"),
      (["unix:a"], "the store's socket a is not an absolute path"),
    ]
    for (addresses, message) in cases {
      let error = #expect(throws: ConfigurationError.self) { try RedisStore(addresses, dialer: dialer) }
      #expect(error?.message == message)
    }
    #expect(throws: ConfigurationError.self) { try RedisStore("redis://a", dialer: dialer, user: "fleet") }
    #expect(throws: ConfigurationError.self) { try RedisStore(["redis://a"], dialer: dialer, timeout: .zero) }
    #expect(throws: ConfigurationError.self) { try RedisStore(["redis://a"], dialer: dialer, prefix: "a b") }
  }
}
