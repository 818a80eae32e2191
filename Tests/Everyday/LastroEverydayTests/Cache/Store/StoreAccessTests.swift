// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("A store that hangs or fails delays no fetch", .timeLimit(.minutes(15)))
struct StoreAccessTests {
  static let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"v\""]

  static func world(_ store: UnreliableStore) -> CacheWorld {
    CacheWorld(store: store) { (request, number) throws(TransportError) in
      request.head.headerFields[.ifNoneMatch] == nil
        ? .answer(200, fields: fields, body: "\(number)") : .answer(304, fields: fields)
    }
  }

  @Test("A fetch waits a second for the store and continues without it", arguments: UnreliableStore.Call.allCases)
  func hangs(call: UnreliableStore.Call) async throws {
    let store = UnreliableStore(hanging: call)
    let world = Self.world(store)
    // Each call of the store is made by one of these fetches.
    let fetches = Task {
      var statuses = [try await world.get().status, try await world.get().status]
      world.clock.advance(by: .seconds(61))
      statuses.append(try await world.get().status)
      statuses.append(try await world.get(method: .put).status)
      return statuses
    }
    #expect(await eventually { store.hung == 1 })
    try await world.clock.waitForLimits(count: 1)
    world.clock.advance(by: .seconds(1))
    #expect(try await fetches.value == [200, 200, 200, 200])
    // The store is not called again until the hung call returns, except for the digest key, which a change needs in
    // order to remove stored responses.
    #expect(store.hung == (call == .digestKey ? 2 : 1))
    let before = world.transfers
    #expect(try await world.get().status == 200)
    #expect(try await world.get { $0.cache = .onlyStored }.status == 504)
    #expect(world.transfers == before + 1)
    store.release()
    #expect(try await eventually { try await world.get().outcome == .hit })
  }

  @Test("The store uses at most half of a deadline, and a cancelled fetch ends at once")
  func deadline() async throws {
    let world = Self.world(UnreliableStore(hanging: .heads))
    let fetch = Task { try await world.get { $0.timeouts = try? Timeouts(total: .milliseconds(500)) } }
    try await world.clock.waitForLimits(count: 1)
    world.clock.advance(by: .milliseconds(250))
    #expect(try await fetch.value.body == "0")
    #expect(world.origin.requests[0].deadline == .milliseconds(250))

    let other = Self.world(UnreliableStore(hanging: .heads))
    let cancelled = Task { try await other.get() }
    try await other.clock.waitForLimits(count: 1)
    cancelled.cancel()
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await cancelled.value }
    #expect(error?.code == .cancelled && other.transfers == 0)
  }

  @Test(
    "A streamed body is delivered although the store does not accept it, and is not stored", arguments: [false, true])
  func streamed(isAtEnd: Bool) async throws {
    let store = UnreliableStore(hanging: isAtEnd ? .commit : .write)
    let world = CacheWorld(store: store) { (_, _) throws(TransportError) in
      TransferResponse(
        head: HTTPResponse(status: .ok, headerFields: Self.fields),
        body: ResponseBody(source: ChunkSource([Data("ab".utf8), Data("cd".utf8)])))
    }
    let body = try await world.stack.stream(RawHTTPResource.test()).value
    let reader = Task { try await body.collect(upTo: 10) }
    #expect(await eventually { store.hung == 1 })
    try await world.clock.waitForLimits(count: 1)
    world.clock.advance(by: .seconds(1))
    #expect(try await reader.value == Data("abcd".utf8))
    #expect(store.memory.count == 0)
  }

  @Test("A stored body in pieces respects the deadline, and is collected only while a caller waits")
  func storedStream() async throws {
    let store = UnreliableStore()
    let world = Self.world(store)
    try await world.get()
    store.streams = true
    #expect(try await world.get().outcome == .hit)
    store.hangsInBody = true
    var options = RequestOptions()
    options.timeouts = try Timeouts(total: .seconds(3))
    let stored = try await world.stack.stream(RawHTTPResource.test(options: options)).value
    let reader = Task { try await stored.collect(upTo: 10) }
    try await world.clock.waitForLimits(count: 1)
    world.clock.advance(by: .seconds(3))
    let error = await #expect(throws: TransportError.self) { try await reader.value }
    #expect(error?.code == .totalTimeout)
    let fetch = Task { try await world.get() }
    try await world.clock.waitForLimits(count: 1)
    world.clock.advance(by: .seconds(1))
    #expect(try await fetch.value.body == "1")
    store.release()
  }

  @Test("A response that the store fails to remove is not served, and is removed before the next read")
  func failsToRemove() async throws {
    let store = UnreliableStore()
    let world = Self.world(store)
    try await world.get()
    store.failsToRemove = true
    try await world.get(method: .put)
    #expect(store.memory.count == 1)
    #expect(try await world.get().outcome == .missed)
    #expect(try await world.get { $0.cache = .onlyStored }.status == 504)
    await world.cache.removeAll()
    #expect(try await world.get("https://example.com/b").outcome == .missed)
    #expect(try await world.get("https://example.com/b").outcome == .missed)
    store.failsToRemove = false
    #expect(try await world.get().outcome == .missed)
    #expect(try await world.get().outcome == .hit)
    #expect(store.memory.count == 1)
  }
}

/// A store that keeps responses in memory, and hangs or fails on demand.
final class UnreliableStore: HTTPCacheStore {
  enum Call: CaseIterable { case digestKey, heads, body, begin, write, commit, freshen, removeAll }

  private struct State {
    var hanging: Call?
    var hung = 0
    var failsToRemove = false
    var streams = false
    var hangsInBody = false
  }

  let memory = MemoryCacheStore()
  private let state: Watched<State>

  init(hanging call: Call? = nil) { state = Watched(State(hanging: call)) }

  var hung: Int { state.read { $0.hung } }

  var failsToRemove: Bool {
    get { state.read { $0.failsToRemove } }
    set { state.change { $0.failsToRemove = newValue } }
  }

  /// Whether bodies are returned piece by piece.
  var streams: Bool {
    get { state.read { $0.streams } }
    set { state.change { $0.streams = newValue } }
  }

  var hangsInBody: Bool {
    get { state.read { $0.hangsInBody } }
    set { state.change { $0.hangsInBody = newValue } }
  }

  /// Lets the hung calls return.
  func release() {
    state.change { state in
      state.hanging = nil
      state.hangsInBody = false
    }
  }

  /// Hangs even if the task is cancelled, as a disk does.
  private func hang(until isMet: @escaping @Sendable (State) -> Bool) async {
    let state = state
    await Task.detached { _ = await state.wait(until: isMet) }.value
  }

  fileprivate func pass(_ call: Call) async {
    let hangs = state.change { state in
      if state.hanging == call { state.hung += 1 }
      return state.hanging == call
    }
    if hangs { await hang { $0.hanging == nil } }
  }

  fileprivate func passBody() async { await hang { !$0.hangsInBody } }

  func digestKey() async -> [UInt8] {
    await pass(.digestKey)
    return await memory.digestKey()
  }

  func heads(for key: CacheKey) async -> [StoredHead] {
    await pass(.heads)
    return await memory.heads(for: key)
  }

  func body(of id: StoredHead.ID) async -> ResponseBody? {
    await pass(.body)
    let body = await memory.body(of: id)
    guard streams, let bytes = body?.bytes else { return body }
    return ResponseBody(source: Pieces(bytes, of: self))
  }

  func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)? {
    await pass(.begin)
    return await memory.begin(head, for: key).map { Writing($0, of: self) }
  }

  func freshen(_ head: StoredHead) async {
    await pass(.freshen)
    await memory.freshen(head)
  }

  func remove(_ id: StoredHead.ID) async -> Bool { await memory.remove(id) }

  func removeAll(ofURL url: [UInt8]) async -> Bool {
    await pass(.removeAll)
    return failsToRemove ? false : await memory.removeAll(ofURL: url)
  }

  func removeAll() async -> Bool { failsToRemove ? false : await memory.removeAll() }

  private final class Writing: CacheWriting {
    private let base: any CacheWriting
    private let store: UnreliableStore

    init(_ base: any CacheWriting, of store: UnreliableStore) { (self.base, self.store) = (base, store) }

    func write(_ piece: Data) async -> Bool {
      await store.pass(.write)
      return await base.write(piece)
    }

    func commit() async -> Bool {
      await store.pass(.commit)
      return await base.commit()
    }

    func abandon() { base.abandon() }
  }

  private final class Pieces: ResponseBodySource {
    private let left: Lock<Data>
    private let store: UnreliableStore

    init(_ bytes: Data, of store: UnreliableStore) { (left, self.store) = (Lock(bytes), store) }

    var finalFacts: TransferFacts? { nil }

    func next() async throws(TransportError) -> Data? {
      await store.passBody()
      return left.withLock { left in left.popFirst().map { Data([$0]) } }
    }

    func cancel() {}
  }
}
