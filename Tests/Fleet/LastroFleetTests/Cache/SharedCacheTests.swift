// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroFleet

private let otherKey = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="

@Suite("One cache for several instances", .timeLimit(.minutes(15)))
struct SharedCacheTests {
  @Test("A response that one instance fetched answers another with its age, for one operation of the store")
  func hit() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance(), two = try fleet.instance()
    #expect(try await one.settledGet().outcome == .missed)
    // Another URL first, so that the instance has read the number of the cache.
    try await two.settledGet("https://example.com/b")
    fleet.clock.advance(by: .seconds(7))
    let count = try await fleet.operations {
      let got = try await two.get()
      #expect(got.body == "body 0" && got.outcome == .hit && got.fields[.age] == "7")
    }
    #expect(count == 1)
    #expect(try await fleet.operations { try await two.get() } == 0)
    #expect(fleet.transfers == 2)
  }

  @Test("A request for a sender costs two operations, and its response answers this sender alone")
  func senders() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance(), two = try fleet.instance()
    try await two.settledGet("https://example.com/b")
    try await one.settledGet { $0.principal = "ann" }
    let count = try await fleet.operations {
      let got = try await two.get { $0.principal = "ann" }
      #expect(got.body == "body 1" && got.outcome == .hit)
    }
    #expect(count == 2)
    #expect(try await two.get { $0.principal = "bob" }.body == "body 2")
    #expect(try await two.get().body == "body 3")
    #expect(try await one.get(fields: [.authorization: "Bearer a"]).body == "body 4")
    await one.shared?.settled()
    #expect(try await two.get(fields: [.authorization: "Bearer a"]).body == "body 4")
    #expect(try await two.get(fields: [.authorization: "Bearer b"]).body == "body 5")
  }

  @Test("A public response answers all senders of all instances")
  func common() async throws {
    let fleet = CacheFleet([.cacheControl: "public, max-age=60"])
    let one = try fleet.instance(), two = try fleet.instance()
    try await one.settledGet { $0.principal = "ann" }
    #expect(try await two.get { $0.principal = "bob" }.body == "body 0")
    #expect(try await two.get().body == "body 0")
  }

  @Test("Instances with another key or name share nothing")
  func foreign() async throws {
    let fleet = CacheFleet()
    try await fleet.instance().settledGet()
    #expect(try await fleet.instance(key: otherKey).settledGet().body == "body 1")
    #expect(try await fleet.instance(name: "other").settledGet().body == "body 2")
    #expect(try await fleet.instance().get().body == "body 0")
  }

  @Test("Instances that disagree about whom a response is for share nothing")
  func partitioning() async throws {
    let fleet = CacheFleet()
    let fields: HTTPFields = [.authorization: "Bearer ann"]
    let common = HTTPCachePolicy(partitioning: .common)
    try await fleet.instance(policy: common).settledGet(fields: fields)
    #expect(try await fleet.instance(policy: common).get().body == "body 0")
    #expect(try await fleet.instance().settledGet().body == "body 1")
    #expect(try await fleet.instance(policy: HTTPCachePolicy(partitioning: .shared)).get().body == "body 2")
    #expect(try await fleet.instance().get().body == "body 1")
  }

  @Test("The store holds no readable part of a request or response")
  func sealed() async throws {
    let fleet = CacheFleet { (_, _) throws(TransportError) in
      .answer(200, fields: Self.tagged("secret-tag"), body: "secret-body")
    }
    let one = try fleet.instance()
    try await one.settledGet("https://example.com/secret-path") { $0.principal = "secret-name" }
    try await one.settledGet("https://example.com/secret-path")
    let texts = fleet.store.keys + fleet.store.values.map { String(decoding: $0, as: UTF8.self) }
    #expect(texts.count >= 8 && !texts.contains { $0.contains("secret") || $0.contains("example") })
  }

  private static func tagged(_ tag: String) -> HTTPFields { [.cacheControl: "max-age=60", .eTag: "\"\(tag)\""] }

  @Test("A body above the limit stays in its instance, which validates it there when it is stale")
  func large() async throws {
    let fleet = CacheFleet { (request, number) throws(TransportError) in
      if request.head.headerFields[.ifNoneMatch] != nil { return .answer(304, fields: CacheFleet.fresh) }
      return .answer(200, fields: CacheFleet.fresh, body: "body \(number)")
    }
    let one = try fleet.instance(maximumSharedBytes: 5), two = try fleet.instance(maximumSharedBytes: 5)
    for principal in [nil, "ann"] {
      let before = fleet.transfers
      try await one.settledGet { $0.principal = principal }
      #expect(try await two.settledGet { $0.principal = principal }.outcome == .missed)
      fleet.clock.advance(by: .seconds(61))
      let got = try await one.settledGet { $0.principal = principal }
      #expect(got.outcome == .revalidated && got.body == "body \(before)")
    }
  }

  @Test("A response that sets a cookie stays in its instance")
  func cookie() async throws {
    let fleet = CacheFleet([.cacheControl: "max-age=60", .setCookie: "a=b"])
    let one = try fleet.instance()
    try await one.settledGet { $0.principal = "ann" }
    #expect(try await one.get { $0.principal = "ann" }.outcome == .hit)
    #expect(try await fleet.instance().get { $0.principal = "ann" }.outcome == .missed)
  }

  @Test("A validation by one instance makes the response fresh for all")
  func validated() async throws {
    let fleet = CacheFleet { (request, number) throws(TransportError) in
      if request.head.headerFields[.ifNoneMatch] != nil {
        return .answer(304, fields: [.eTag: "\"v1\"", .cacheControl: "max-age=90"])
      }
      return .answer(200, fields: CacheFleet.fresh, body: "body \(number)")
    }
    let one = try fleet.instance(), two = try fleet.instance(), three = try fleet.instance()
    try await one.settledGet()
    try await two.settledGet()
    fleet.clock.advance(by: .seconds(61))
    // This instance has the response from the store only.
    #expect(try await three.settledGet().outcome == .revalidated)
    for instance in [one, two] {
      let got = try await instance.get()
      #expect(got.outcome == .hit && got.body == "body 0" && got.fields[.cacheControl] == "max-age=90")
    }
    #expect(fleet.transfers == 2)
  }

  @Test("Variants by Vary are shared, each with the requests that it fits")
  func vary() async throws {
    let fleet = CacheFleet([.cacheControl: "max-age=60", .vary: "Accept"])
    let one = try fleet.instance(), two = try fleet.instance()
    try await one.settledGet(fields: [.accept: "a/a"])
    try await one.settledGet(fields: [.accept: "b/b"])
    #expect(try await two.get(fields: [.accept: "b/b"]).body == "body 1")
    #expect(try await two.get(fields: [.accept: "a/a"]).body == "body 0")
    #expect(try await two.get(fields: [.accept: "c/c"]).body == "body 2")
  }

  @Test("Another method's success removes the response of all senders for all instances that ask the store again")
  func invalidated() async throws {
    let fleet = CacheFleet { (_, number) throws(TransportError) in
      .answer(200, fields: Self.tagged("\(number)"), body: "body \(number)")
    }
    let one = try fleet.instance(), two = try fleet.instance(), three = try fleet.instance()
    for principal in [nil, "ann"] { try await one.settledGet { $0.principal = principal } }
    for principal in [nil, "ann"] { try await two.settledGet { $0.principal = principal } }
    #expect(fleet.transfers == 2)
    try await one.settledGet(method: .post)
    // An instance that has nothing in memory, and one with a response that is fresh there.
    #expect(try await three.settledGet().body == "body 3")
    #expect(try await two.get { $0.principal = "ann" }.body == "body 1")
    #expect(try await one.settledGet { $0.principal = "ann" }.body == "body 4")
    fleet.clock.advance(by: .seconds(61))
    // The removed response in its memory is not even validated.
    #expect(try await two.get { $0.principal = "ann" }.body == "body 5")
    #expect(fleet.origin.requests.last?.head.headerFields[.ifNoneMatch] == "\"4\"")
  }

  @Test("A removal of all responses holds for other instances after ten seconds at most")
  func removedAll() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance(), two = try fleet.instance()
    try await one.settledGet()
    try await two.settledGet("https://example.com/b")
    await one.cache.removeAll()
    #expect(try await one.settledGet().body == "body 2")
    fleet.clock.advance(by: .seconds(10))
    #expect(try await two.get().body == "body 2")
    #expect(try await one.get("https://example.com/b").body == "body 3")
  }

  @Test("A removal of a URL that another instance's removal of all preceded holds all the same")
  func removedTwice() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance(), two = try fleet.instance()
    try await one.settledGet("https://example.com/b")
    await two.cache.removeAll()
    try await two.settledGet()
    // This instance does not know yet that the number of the cache is another one.
    try await one.cache.remove("https://example.com/a")
    #expect(try await fleet.instance().get().outcome == .missed)
  }

  @Test("A response that was requested before another instance's removal is not stored after it")
  func outdated() async throws {
    let gate = Watched(false)
    let fleet = CacheFleet { (request, number) throws(TransportError) in
      if number == 0 { _ = await gate.wait { $0 } }
      return .answer(200, fields: CacheFleet.fresh, body: "body \(number)")
    }
    let one = try fleet.instance(), two = try fleet.instance()
    let early = Task { try await one.get() }
    #expect(await eventually { fleet.transfers == 1 })
    try await two.cache.remove("https://example.com/a")
    gate.change { $0 = true }
    #expect(try await early.value.body == "body 0")
    await one.shared?.settled()
    #expect(try await two.get().body == "body 1")
  }

  @Test("Ages are those of the store's clock, also between instances whose clocks are an hour apart")
  func clocks() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance(skew: .seconds(3600)), two = try fleet.instance(skew: .seconds(-3600))
    try await one.settledGet()
    fleet.clock.advance(by: .seconds(59))
    #expect(try await two.get().fields[.age] == "59")
    fleet.clock.advance(by: .seconds(2))
    #expect(try await two.get().outcome == .missed)
  }

  @Test("The cache modes include the responses of other instances")
  func modes() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance(), two = try fleet.instance()
    #expect(try await two.get { $0.cache = .onlyStored }.status == 504)
    try await one.settledGet()
    #expect(try await fleet.operations { try await one.get { $0.cache = .noStore } } == 0)
    #expect(try await two.get { $0.cache = .onlyStored }.body == "body 0")
    fleet.clock.advance(by: .seconds(1))
    #expect(try await two.settledGet { $0.cache = .reload }.body == "body 2")
    #expect(try await fleet.instance().get { $0.cache = .onlyStored }.body == "body 2")
    #expect(try await fleet.instance().get("https://example.com/b") { $0.cache = .onlyStored }.status == 504)
  }

  @Test("A stale response is served at once, and another instance's fresh one saves its validation")
  func revalidation() async throws {
    let fleet = CacheFleet([.cacheControl: "max-age=10, stale-while-revalidate=100"])
    let one = try fleet.instance(), two = try fleet.instance()
    try await one.settledGet()
    try await two.settledGet()
    fleet.clock.advance(by: .seconds(20))
    try await one.settledGet()
    await one.cache.finishRevalidations()
    await one.shared?.settled()
    #expect(fleet.transfers == 2)
    #expect(try await two.get().outcome == .staleServed)
    await two.cache.finishRevalidations()
    #expect(try await two.get().body == "body 1")
    #expect(fleet.transfers == 2)
  }

  @Test("Equal requests of one instance ask the store once")
  func equal() async throws {
    let gate = Watched(false)
    let fleet = CacheFleet { (_, number) throws(TransportError) in
      if number == 1 { _ = await gate.wait { $0 } }
      return .answer(200, fields: CacheFleet.fresh, body: "body \(number)")
    }
    let one = try fleet.instance()
    try await one.settledGet("https://example.com/b")
    let reads = fleet.store.reads
    let bodies = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<20 { group.addTask { try await one.get().body } }
      #expect(await eventually { one.cache.waiting == 20 })
      gate.change { $0 = true }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(bodies == ["body 1"])
    #expect(fleet.store.reads == reads + 1)
  }

  @Test("A record that the store evicts makes no removed response valid again")
  func evicted() async throws {
    let fleet = CacheFleet()
    let one = try fleet.instance()
    try await one.settledGet { $0.principal = "ann" }
    try await one.settledGet(method: .post)
    // The record of the URL, without responses.
    for key in fleet.store.keys where (38..<200).contains(fleet.store.value(of: key)?.count ?? 0) {
      fleet.store.evict(key)
    }
    #expect(try await fleet.instance().get { $0.principal = "ann" }.outcome == .missed)
  }

  @Test("A number that was evicted while a request was under way is not written again with its response")
  func evictedMeanwhile() async throws {
    let gate = Watched(false)
    let fleet = CacheFleet { (_, number) throws(TransportError) in
      if number == 1 { _ = await gate.wait { $0 } }
      return .answer(200, fields: CacheFleet.fresh, body: "body \(number)")
    }
    let one = try fleet.instance(), two = try fleet.instance()
    try await one.settledGet { $0.principal = "ann" }
    let slow = Task { try await two.settledGet { $0.principal = "bob" } }
    #expect(await eventually { fleet.transfers == 2 })
    try await one.settledGet(method: .post)
    for key in fleet.store.keys where (38..<200).contains(fleet.store.value(of: key)?.count ?? 0) {
      fleet.store.evict(key)
    }
    gate.change { $0 = true }
    #expect(try await slow.value.body == "body 1")
    #expect(try await fleet.instance().settledGet { $0.principal = "ann" }.body == "body 3")
    #expect(try await fleet.instance().get { $0.principal = "bob" }.outcome == .missed)
  }

  @Test("Options that cannot be are refused")
  func options() throws {
    let fleet = CacheFleet()
    let key = try SealingKey(base64: Secret(testKey))
    func message(_ make: () throws -> HTTPCache) -> String? {
      do { _ = try make() } catch { return "\(error)" }
      return nil
    }
    let unnamed = message { try HTTPCache().shared(in: fleet.store, as: "", sealedWith: key) }
    #expect(unnamed?.hasPrefix("the cache name") ?? false)
    #expect(
      message { try HTTPCache().shared(in: fleet.store, as: String(repeating: "a", count: 61), sealedWith: key) }
        == "the cache name has 61 characters, above the limit of 60 (give a short name)")
    #expect(
      message { try HTTPCache().shared(in: fleet.store, as: "a", sealedWith: key, maximumSharedBytes: 0) }
        == "the limit of shared bodies is 0, out of range (1 to 1048576) "
        + "(larger bodies stay in the instance that fetched them)")
    #expect(
      message { try HTTPCache().shared(in: fleet.store, as: "a", sealedWith: key, patience: .zero) }
        == "the patience is 0 ms, out of range (10 ms to 1 min) "
        + "(give a little more than the servers take to respond)")
    let shared = try HTTPCache().shared(in: fleet.store, as: "a", sealedWith: key)
    #expect(
      message { try shared.shared(in: fleet.store, as: "a", sealedWith: key) }
        == "the cache is in a folder or already shared (share one that keeps its responses in memory)")
    let folder = FileManager.default.temporaryDirectory.appending(path: "cache-\(UInt64.random(in: 0 ... .max))")
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = try FileStore(folder: folder.path)
    #expect(
      message { try HTTPCache().shared(in: file, as: "a", sealedWith: key) }
        == "a store in a folder cannot hold a cache: it keeps expired values "
        + "(use a store in Redis, or a cache in a folder for the processes of one host)")
  }
}
