// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@Suite("Responses are separated by principal", .timeLimit(.minutes(15)))
struct PrincipalTests {
  static let fields: HTTPFields = [.cacheControl: "max-age=60"]

  /// Requests that must not receive each other's responses.
  static let identities: [(name: String, fields: HTTPFields, edit: @Sendable (inout RequestOptions) -> Void)] = [
    ("none", [:], { _ in }),
    ("ann's token", [.authorization: "Bearer ann"], { _ in }),
    ("bob's token", [.authorization: "Bearer bob"], { _ in }),
    ("ann's cookie", [.cookie: "s=ann"], { _ in }), ("bob's cookie", [.cookie: "s=bob"], { _ in }),
    ("principal ann", [:], { $0.principal = "ann" }), ("principal bob", [:], { $0.principal = "bob" }),
    ("principal empty", [:], { $0.principal = "" }),
    ("a sensitive field", [.apiKey: "k1"], { $0.sensitiveHeaders = [.apiKey] }),
    ("another value of it", [.apiKey: "k2"], { $0.sensitiveHeaders = [.apiKey] }),
    ("a secret in a field", [.other: "x secret-1"], { $0.secrets = ["secret-1"] }),
    ("another secret in it", [.other: "x secret-2"], { $0.secrets = ["secret-2"] }),
    (
      "a client certificate", [:],
      { $0.connection = .edited { $0.tls.identity = .init(certificate: .file("/ann.pem")) } }
    ),
    (
      "another certificate", [:],
      { $0.connection = .edited { $0.tls.identity = .init(certificate: .file("/bob.pem")) } }
    ),
    ("a socket", [:], { $0.connection = .edited { $0.unixSocketPath = "/run/a" } }),
    ("another socket", [:], { $0.connection = .edited { $0.unixSocketPath = "/run/b" } }),
    (
      "a fixed address", [:],
      { $0.connection = .edited { $0.resolutions = [.init(host: "example.com", port: 443, addresses: ["10.0.0.1"])] } }
    ),
    ("a proxy", [:], { $0.connection = .edited { $0.proxy = .url("http://p.example:1") } }),
    ("no proxy", [:], { $0.connection = .edited { $0.proxy = .none } }),
    ("egress rules", [:], { $0.connection = .edited { $0.reach.egress = EgressRules() } }),
    ("a later TLS", [:], { $0.connection = .edited { $0.tls.minimumVersion = .v1_3 } }),
    ("an older TLS", [:], { $0.connection = .edited { $0.tls.maximumVersion = .v1_2 } }),
    ("a SPIFFE ID", [:], { $0.connection = .edited { $0.tls.peer = .ids("spiffe://a.test/x") } }),
    (
      "two SPIFFE IDs", [:],
      { $0.connection = .edited { $0.tls.peer = .ids("spiffe://a.test/x", "spiffe://a.test/y") } }
    ),
    ("other roots", [:], { $0.connection = .edited { $0.tls.roots = .file("/roots.pem") } }),
  ]

  @Test("Each identity gets its own responses, in any order")
  func everyPair() async throws {
    for (first, one) in Self.identities.enumerated() {
      for (second, other) in Self.identities.enumerated() where first != second {
        let world = CacheWorld(Self.fields)
        let own = try await world.get(fields: one.fields, one.edit)
        let others = try await world.get(fields: other.fields, other.edit)
        #expect(own.body != others.body, "\(other.name) got a response made for \(one.name)")
        #expect(try await world.get(fields: one.fields, one.edit).body == own.body, "\(one.name), again")
        #expect(world.transfers == 2)
      }
    }
  }

  @Test("A public response is shared only by requests that reach the server in the same way")
  func everyWay() async throws {
    let ways = Self.identities.filter { identity in
      var options = RequestOptions()
      identity.edit(&options)
      return options.connection != nil
    }
    #expect(ways.count > 4)
    for way in ways {
      for isFirst in [true, false] {
        let world = CacheWorld { (_, number) throws(TransportError) in
          .answer(200, fields: [.cacheControl: "public, max-age=60"], body: "\(number)")
        }
        if isFirst { _ = try await world.get() }
        let own = try await world.get(fields: way.fields, way.edit)
        let plain = try await world.get()
        #expect(own.body != plain.body && world.transfers == 2, "\(way.name)")
      }
    }
  }

  @Test("A cookie that a validation sets for one user is in no response to another")
  func validated() async throws {
    let world = CacheWorld { (request, number) throws(TransportError) in
      var fields: HTTPFields = [.cacheControl: "public, max-age=60", .eTag: "\"v\""]
      if request.head.headerFields[.ifNoneMatch] == nil { return .answer(200, fields: fields, body: "all") }
      fields[.setCookie] = "s=bob"
      return .answer(304, fields: fields, body: "")
    }
    _ = try await world.get()
    world.clock.advance(by: .seconds(61))
    _ = try await world.get(fields: [.authorization: "bob"])
    #expect(world.transfers == 2)
    let after = try await world.get()
    #expect(world.transfers == 2 && after.fields[.setCookie] == nil)
  }

  @Test("A request with its own judge bypasses responses stored for others")
  func judged() async throws {
    let world = CacheWorld(Self.fields)
    _ = try await world.get()
    _ = try await world.get { $0.connection = .edited { $0.tls.trustJudge = ScriptedJudge(accepts: { _ in true }) } }
    #expect(world.transfers == 2)
  }

  @Test("Concurrent equal requests of two principals are two transfers")
  func atOnce() async throws {
    let gate = Watched(false)
    let world = CacheWorld { (request, number) throws(TransportError) in
      _ = await gate.wait { $0 }
      return .answer(200, fields: Self.fields, body: request.head.headerFields[.authorization] ?? "")
    }
    async let ann = world.get(fields: [.authorization: "ann"])
    async let bob = world.get(fields: [.authorization: "bob"])
    #expect(await eventually { world.transfers == 2 })
    gate.change { $0 = true }
    #expect(try await ann.body == "ann")
    #expect(try await bob.body == "bob")
  }

  @Test("A principal keeps its responses when its token changes, and a public response is shared")
  func shared() async throws {
    let world = CacheWorld(Self.fields)
    for token in ["t1", "t2"] {
      #expect(try await world.get(fields: [.authorization: token]) { $0.principal = "ann" }.body == "body 0")
    }
    let open = CacheWorld([.cacheControl: "public, max-age=60"])
    try await open.get(fields: [.authorization: "ann"])
    #expect(try await open.get(fields: [.authorization: "bob"]).body == "body 0")
    #expect(try await open.get().body == "body 0")
    // A response that sets a cookie is not shared with other users.
    let setting = CacheWorld([.cacheControl: "public, max-age=60", .setCookie: "s=ann"])
    try await setting.get(fields: [.authorization: "ann"])
    #expect(try await setting.get(fields: [.authorization: "bob"]).body == "body 1")
  }

  @Test("A single principal for all, and a shared cache, are possible by policy")
  func partitionings() async throws {
    let common = CacheWorld(policy: HTTPCachePolicy(partitioning: .common), Self.fields)
    try await common.get(fields: [.authorization: "ann"])
    #expect(try await common.get(fields: [.authorization: "bob"]).body == "body 0")
    let shared = CacheWorld(policy: HTTPCachePolicy(partitioning: .shared), Self.fields)
    try await shared.get(fields: [.authorization: "ann"])
    #expect(try await shared.get(fields: [.authorization: "bob"]).body == "body 1")
    try await shared.get()
    #expect(try await shared.get().outcome == .hit)
  }

  @Test("No credential reaches the store: not in keys, selecting fields or heads")
  func nothingStored() async throws {
    let store = SeeingStore()
    let world = CacheWorld(
      store: store, [.cacheControl: "max-age=60", .vary: "Authorization, Cookie, X-Api-Key"])
    try await world.get(
      "https://example.com/a?token=swordfish",
      fields: [.authorization: "Bearer swordfish", .cookie: "s=swordfish", .apiKey: "swordfish"]
    ) {
      $0.sensitiveHeaders = [.apiKey]
      $0.principal = "swordfish"
    }
    let seen = store.seen.withLock { $0 }
    #expect(!seen.isEmpty)
    #expect(!seen.contains { $0.contains("swordfish") })
    #expect(
      try await world.get(
        "https://example.com/a?token=swordfish",
        fields: [.authorization: "Bearer swordfish", .cookie: "s=swordfish", .apiKey: "swordfish"]
      ) { $0.principal = "swordfish" }.outcome == .hit)
  }
}

/// A store that records everything the cache passes to it, as text.
private final class SeeingStore: HTTPCacheStore {
  let memory = MemoryCacheStore()
  let seen = Lock<[String]>([])

  private func see(_ head: StoredHead?, _ key: CacheKey) {
    let bytes = key.url + key.partition + (head?.selecting ?? [])
    seen.withLock { $0 += [String(decoding: bytes, as: UTF8.self), "\(String(describing: head))", "\(key)"] }
  }

  func digestKey() async -> [UInt8] { await memory.digestKey() }
  func heads(for key: CacheKey) async -> [StoredHead] {
    see(nil, key)
    return await memory.heads(for: key)
  }
  func body(of id: StoredHead.ID) async -> ResponseBody? { await memory.body(of: id) }
  func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)? {
    see(head, key)
    return await memory.begin(head, for: key)
  }
  func freshen(_ head: StoredHead) async { await memory.freshen(head) }
  func remove(_ id: StoredHead.ID) async -> Bool { await memory.remove(id) }
  func removeAll(ofURL url: [UInt8]) async -> Bool { await memory.removeAll(ofURL: url) }
  func removeAll() async -> Bool { await memory.removeAll() }
}

extension ConnectionOptions {
  static func edited(_ edit: (inout ConnectionOptions) -> Void) -> ConnectionOptions {
    var options = ConnectionOptions()
    edit(&options)
    return options
  }
}

extension HTTPField.Name {
  static let apiKey = Self.of("X-Api-Key")
  static let other = Self.of("X-Other")
}
