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

@Suite("Removals from a shared cache", .timeLimit(.minutes(15)))
struct SharedCacheRemovalTests {
  private let key = CacheKey(url: [1])

  /// Returns a fleet over an origin that answers each validation with `no-store`, so that the response is removed.
  private func retractingFleet() -> CacheFleet {
    CacheFleet { (request, number) throws(TransportError) in
      if request.head.headerFields[.ifNoneMatch] != nil {
        return .answer(304, fields: [.eTag: "\"v1\"", .cacheControl: "no-store"])
      }
      return .answer(200, fields: [.cacheControl: "max-age=400", .eTag: "\"v1\""], body: "body \(number)")
    }
  }

  /// Returns a fleet whose store holds each operation while a gate is closed.
  private func gatedFleet() -> (fleet: CacheFleet, gate: Watched<Bool>) {
    let gate = Watched(true)
    let fleet = CacheFleet(advances: false, pause: { _ = await gate.wait { $0 } }) {
      (_, number) throws(TransportError) in
      .answer(200, fields: [.cacheControl: "max-age=100000"], body: "body \(number)")
    }
    return (fleet, gate)
  }

  private func hasPending(_ shared: SharedCacheStore) -> Bool { shared.state.withLock { !$0.removals.isEmpty } }

  /// Advances the clock over the pauses between two tries until the store has heard of all removals of an instance.
  private func isSettled(_ fleet: CacheFleet, _ shared: SharedCacheStore) async -> Bool {
    await eventually {
      // An operation of the store has a shorter limit, which must not pass.
      if let next = fleet.clock.nextLimit, next == fleet.clock.now + SharedCacheStore.removalPause {
        fleet.clock.advance(by: SharedCacheStore.removalPause)
      }
      return !hasPending(shared)
    }
  }

  private func response(_ fields: HTTPFields = [.eTag: "\"a\""]) -> CacheRecord.Response {
    let head = StoredHead(
      head: HTTPResponse(status: .ok, headerFields: fields), requested: .seconds(4), received: .seconds(5),
      selecting: [], isCredentialed: false)
    return CacheRecord.Response(head: head, body: Data("body".utf8))
  }

  @Test("A response that may not be stored any more is removed from the store, however long ago it was stored")
  func old() async throws {
    let fleet = retractingFleet()
    let one = try fleet.instance()
    try await one.settledGet()
    fleet.clock.advance(by: .seconds(500))
    #expect(try await one.settledGet().outcome == .revalidated)
    try await fleet.instance().settledGet()
    #expect(fleet.transfers == 3 && fleet.origin.requests.last?.head.headerFields[.ifNoneMatch] == nil)
  }

  @Test("A removal of one response that the store refuses becomes one of all responses of the URL, and is repeated")
  func refused() async throws {
    let fleet = retractingFleet()
    let one = try fleet.instance()
    let shared = try #require(one.shared)
    try await one.settledGet()
    fleet.clock.advance(by: .seconds(401))
    fleet.store.refuseChanges(CacheFleet.full)
    #expect(try await one.settledGet().outcome == .revalidated)
    #expect(hasPending(shared))
    fleet.store.refuseChanges(nil)
    #expect(await isSettled(fleet, shared))
    try await fleet.instance().settledGet()
    #expect(fleet.transfers == 3 && fleet.origin.requests.last?.head.headerFields[.ifNoneMatch] == nil)
  }

  @Test("A removal is written although the limit of changes under way is reached")
  func crowded() async throws {
    let (fleet, gate) = gatedFleet()
    let one = try #require(try fleet.instance().shared), two = try #require(try fleet.instance().shared)
    let mark = await one.update([key])
    one.change(key, mark, .put(response()))
    await one.settled()
    gate.change { $0 = false }
    for number in 2..<80 { one.change(CacheKey(url: [UInt8(number)]), mark, .put(response())) }
    one.change(key, mark, .remove([], received: .seconds(5)))
    gate.change { $0 = true }
    await one.settled()
    _ = await two.update([key])
    #expect(await two.local.heads(for: key).isEmpty)
    let other = CacheKey(url: [2])
    _ = await two.update([other])
    #expect(await two.local.heads(for: other).count == 1)
  }

  @Test("A removal that missed the store reaches it later, without another request")
  func repeated() async throws {
    let fleet = CacheFleet([.cacheControl: "max-age=100000"])
    let one = try fleet.instance()
    try await one.settledGet()
    try await one.settledGet("https://example.com/b")
    fleet.store.fail(MemoryFleetStore.down)
    try await one.cache.remove("https://example.com/a")
    fleet.store.fail(nil)
    let shared = try #require(one.shared)
    #expect(await isSettled(fleet, shared))
    #expect(try await fleet.instance().get().outcome == .missed)
    #expect(try await fleet.instance().get("https://example.com/b").outcome == .hit)
    fleet.store.fail(MemoryFleetStore.down)
    await one.cache.removeAll()
    fleet.store.fail(nil)
    #expect(await isSettled(fleet, shared))
    #expect(try await fleet.instance().get("https://example.com/b").outcome == .missed)
    #expect(await eventually { shared.state.withLock { $0.repetition == nil && $0.settlings.isEmpty } })
    #expect(await eventually { fleet.clock.nextLimit == nil })
  }

  @Test("A removal whose task is cancelled is written all the same")
  func cancelled() async throws {
    let (fleet, gate) = gatedFleet()
    let one = try fleet.instance()
    let shared = try #require(one.shared)
    try await one.settledGet()
    gate.change { $0 = false }
    let removal = Task { try await one.cache.remove("https://example.com/a") }
    #expect(await eventually { hasPending(shared) })
    removal.cancel()
    _ = await removal.result
    gate.change { $0 = true }
    #expect(await eventually { !hasPending(shared) })
    #expect(try await fleet.instance().get().outcome == .missed)
  }

  @Test("A removal for which a request has no time left reaches the store nevertheless")
  func noTime() async throws {
    let clock = Lock<ManualClock?>(nil)
    let fleet = CacheFleet { (request, number) throws(TransportError) in
      if request.head.method == .post { clock.withLock { $0 }?.advance(by: .seconds(2)) }
      return .answer(200, fields: [.cacheControl: "max-age=100000"], body: "body \(number)")
    }
    clock.withLock { $0 = fleet.clock }
    let one = try fleet.instance()
    let shared = try #require(one.shared)
    try await one.settledGet()
    let timeouts = try Timeouts(total: .seconds(1))
    _ = try? await one.get(method: .post) { $0.timeouts = timeouts }
    #expect(fleet.transfers == 2)
    #expect(await eventually { !hasPending(shared) })
    #expect(try await fleet.instance().get().outcome == .missed)
  }

  @Test("A removal while the store has not ended an earlier one in time reaches the store nevertheless")
  func late() async throws {
    let (fleet, gate) = gatedFleet()
    let one = try fleet.instance()
    let shared = try #require(one.shared)
    for path in ["a", "b"] { try await one.settledGet("https://example.com/\(path)") }
    gate.change { $0 = false }
    let timeouts = try Timeouts(total: .milliseconds(100))
    let first = Task { try await one.get(method: .post) { $0.timeouts = timeouts } }
    #expect(await eventually { fleet.clock.nextLimit == fleet.clock.now + .milliseconds(50) })
    fleet.clock.advance(by: .milliseconds(50))
    _ = try await first.value
    try await one.get("https://example.com/b", method: .post)
    gate.change { $0 = true }
    #expect(await eventually { !hasPending(shared) })
    for path in ["a", "b"] {
      #expect(try await fleet.instance().get("https://example.com/\(path)").outcome == .missed)
    }
  }

  @Test("Removals that wait for the store end with their cache")
  func deallocated() async throws {
    let fleet = CacheFleet()
    weak var shared: SharedCacheStore?
    do {
      let one = try fleet.instance()
      shared = one.shared
      try await one.settledGet()
      fleet.store.fail(MemoryFleetStore.down)
      try await one.cache.remove("https://example.com/a")
    }
    #expect(await eventually { shared == nil && fleet.clock.nextLimit == nil })
  }

  @Test("The number of a URL is kept for ten minutes, also with a response that is kept for one")
  func tombstone() async throws {
    let fleet = CacheFleet()
    let one = try #require(try fleet.instance().shared), two = try #require(try fleet.instance().shared)
    await one.removeAll(ofURL: key.url)
    let mark = await one.update([key])
    one.change(key, mark, .put(response([:])))
    await one.settled()
    fleet.clock.advance(by: .seconds(400))
    let later = try #require(CacheMark(await two.update([key])))
    #expect(later.hasSameResponses(as: CacheMark(mark)))
  }

  @Test("A removal makes only those looks into the store worthless that have begun before it")
  func overlapping() async throws {
    let (fleet, gate) = gatedFleet()
    let one = try #require(try fleet.instance().shared)
    func updates() -> Int { one.state.withLock { $0.updates[key.url]?.count ?? 0 } }
    gate.change { $0 = false }
    let key = key
    let earlier = Task { await one.update([key]) }
    #expect(await eventually { updates() == 1 })
    let removal = Task { await one.removeAll(ofURL: key.url) }
    #expect(await eventually { hasPending(one) })
    let later = Task { await one.update([key]) }
    #expect(await eventually { updates() == 2 })
    gate.change { $0 = true }
    #expect(await earlier.value == [])
    #expect(await later.value != [])
    _ = await removal.value
  }
}
