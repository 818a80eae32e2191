// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroEveryday
internal import LastroSupport
internal import LastroWire

/// Responses in memory, in front of those that the instances of a service share: see `HTTPCache.shared`.
///
/// The record of a URL has the number of its generation and the responses for requests without a sender. The responses
/// for a sender are in a record of their own, which counts only while its generation is that of the URL. So a removal of
/// all responses of a URL changes one record, and a record that the store has evicted makes others useless, and none
/// valid again.
final class SharedCacheStore: SharedHTTPCacheStore {
  struct Settings: Sendable {
    var name: String
    var maximumSharedBytes: Int
    var patience: Duration
    var rules: CacheRules
    var time: TimeSource
    var random: RandomSource
  }

  struct State {
    /// The number of the cache, and the time until which it need not be read again, unless the store was lost since.
    var epoch: (number: UInt64, until: Duration, returns: UInt64)?
    /// The number of times that this process has replaced that number.
    var replacements: UInt64 = 0
    var removals = PendingRemovals()
    /// The tasks that write removals into the store.
    var settlings: [RemovalScope: Task<Bool, Never>] = [:]
    /// The task that waits for the next try to write removals.
    var repetition: Task<Void, Never>?
    /// The number of updates under way by URL, and the number of removals since the first of them has begun.
    var updates: [[UInt8]: (count: Int, removals: UInt64)] = [:]
    /// The latest change under way by URL, and the latest one since an equal request was announced.
    var changes: [[UInt8]: (id: UInt64, task: Task<Duration?, Never>)] = [:]
    var announced: [[UInt8]: (count: Int, change: Task<Duration?, Never>?)] = [:]
    /// The leases that are being ended.
    var endings: [UInt64: Task<Void, Never>] = [:]
    var lastID: UInt64 = 0
    var changesUnderWay = 0
    var bytesUnderWay = 0
  }

  /// The time for which other instances may not have heard of a removal of all responses.
  static let epochAge = Duration.seconds(10)
  /// The time for which a number without responses is kept. Longer than a mark is valid.
  static let tombstoneAge = Duration.seconds(600)
  static let epochRetention = Duration.seconds(30 * 86_400)
  /// The number of tries to change a record while others change it.
  static let tries = 5

  let local: MemoryCacheStore
  let link: StoreLink
  let cipher: CacheCipher
  let settings: Settings
  let state = Lock(State())

  init(_ local: MemoryCacheStore, over link: StoreLink, _ cipher: CacheCipher, _ settings: Settings) {
    self.local = local
    self.link = link
    self.cipher = cipher
    self.settings = settings
  }

  deinit { state.withLock { $0.repetition }?.cancel() }

  var time: TimeSource { settings.time }

  // MARK: Responses at hand

  func digestKey() async -> [UInt8] { cipher.digestKey }

  func heads(for key: CacheKey) async -> [StoredHead] { await local.heads(for: key) }

  func body(of id: StoredHead.ID) async -> ResponseBody? { await local.body(of: id) }

  func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)? {
    CollectedWriting(maximumBytes: local.maximumEntryBytes) { [self] body in
      guard local.add(head, body, for: key) else { return false }
      change(key, head.mark, .put(CacheRecord.Response(head: head, body: body)))
      return true
    }
  }

  func freshen(_ head: StoredHead) async {
    await local.freshen(head)
    guard let found = local.response(head.id) else { return }
    change(found.key, head.mark, .put(CacheRecord.Response(head: found.head, body: found.body)))
  }

  @discardableResult
  func remove(_ id: StoredHead.ID) async -> Bool {
    guard let found = local.response(id) else { return true }
    await local.remove(id)
    change(found.key, found.head.mark, .remove(found.head.selecting, received: found.head.received))
    return true
  }

  /// Removes all responses of a URL, for all instances as soon as the store is reached.
  @discardableResult
  func removeAll(ofURL url: [UInt8]) async -> Bool {
    note(.url(url))
    await local.removeAll(ofURL: url)
    await settle(.url(url))
    return true
  }

  /// Removes all responses, for all instances as soon as the store is reached.
  @discardableResult
  func removeAll() async -> Bool {
    note(.all)
    await local.removeAll()
    await settle(.all)
    return true
  }

  func removeLater(_ url: [UInt8]?) {
    let scope = url.map { RemovalScope.url($0) } ?? .all
    note(scope)
    Task { await settle(scope) }
  }

  // MARK: Responses of others

  func update(_ keys: [CacheKey]) async -> [UInt8] {
    guard let url = keys.first?.url else { return [] }
    let removals = state.withLock { state in
      state.updates[url, default: (0, 0)].count += 1
      return state.updates[url]?.removals
    }
    defer {
      state.withLock { state in
        state.updates[url]?.count -= 1
        if state.updates[url]?.count == 0 { state.updates[url] = nil }
      }
    }
    guard await settleRemovals(of: .url(url)), let epoch = await currentEpoch() else { return [] }
    let senders = keys.filter { !$0.partition.isEmpty }
    // A request has at most two keys. Their records are read in one round trip.
    async let first = responses(for: senders.first, epoch)
    async let second = responses(for: senders.dropFirst().first, epoch)
    let found = await urlRecord(CacheKey(url: url), epoch, isNeeded: !senders.isEmpty)
    let records = [await first, await second]
    guard let found else { return [] }
    let mark = CacheMark(
      epoch: epoch, generation: found.record.generation, isNew: found.isNew, time: found.time, updated: time.now())
    for key in keys {
      for head in await local.heads(for: key) where !mark.hasSameResponses(as: CacheMark(head.mark)) {
        await local.remove(head.id)
      }
      let index = senders.firstIndex(of: key)
      guard let record = index.map({ records[$0] }) ?? found.record, record.generation == mark.generation else {
        continue
      }
      takeOver(record, for: key, mark, after: removals)
    }
    let isCurrent = state.withLock { $0.updates[url]?.removals == removals }
    return isCurrent ? mark.bytes : []
  }

  /// Adds the responses of a record to those in memory, unless they are older, or a removal has come since a number of
  /// removals was read.
  private func takeOver(
    _ record: CacheRecord, for key: CacheKey, _ mark: CacheMark, after removals: UInt64?
  ) {
    guard !record.responses.isEmpty else { return }
    let offset = link.offset
    for response in record.responses.reversed() {
      var head = response.head.moved(by: .zero - offset)
      head.mark = mark.bytes
      state.withLock { state in
        // A removal is recorded before the memory is cleared, so nothing is added after it.
        guard state.updates[key.url]?.removals == removals else { return }
        _ = local.add(head, response.body, for: key) { $0.received + CacheRecord.tolerance >= head.received }
      }
    }
  }

  /// Returns the record of a sender; `nil` if there is none.
  private func responses(for key: CacheKey?, _ epoch: UInt64) async -> CacheRecord? {
    guard let key, let place = cipher.place(.responses, epoch, key) else { return nil }
    return record(await link.read(place.name)?.bytes, at: place)
  }

  func record(_ bytes: [UInt8]?, at place: CacheCipher.Place) -> CacheRecord? {
    bytes.flatMap { cipher.opened($0, of: place) }.flatMap { CacheRecord($0) }
  }

  /// Returns the record of a URL, or a new one if the store has none; `nil` if the store is lost.
  ///
  /// - Parameter isNeeded: whether a new record is written at once, so that all instances have the same number for the
  ///   responses of senders. Otherwise it is written with the first response.
  private func urlRecord(
    _ key: CacheKey, _ epoch: UInt64, isNeeded: Bool
  ) async -> (record: CacheRecord, isNew: Bool, time: Duration)? {
    let new = CacheRecord(generation: .random(in: 0 ... .max))
    guard let place = cipher.place(.responses, epoch, key) else { return nil }
    guard isNeeded else {
      guard let value = await link.read(place.name) else { return nil }
      let known = record(value.bytes, at: place)
      return (known ?? new, known == nil, value.time)
    }
    let found = await changeRecord(at: place) { record in
      record.map { .keep($0) } ?? .write(new, for: Self.tombstoneAge)
    }
    return found.map { ($0.record, false, $0.time) }
  }
}
