// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroEveryday
internal import LastroSupport
internal import LastroWire

extension SharedCacheStore {
  /// A change of a response, for the other instances.
  enum Change: Sendable {
    case put(CacheRecord.Response)
    case remove([UInt8], received: Duration)

    fileprivate var bytes: Int { if case .put(let response) = self { response.body.count } else { 0 } }
    fileprivate var isRemoval: Bool { if case .remove = self { true } else { false } }
  }

  /// A decision about a record.
  enum RecordChange {
    case keep(CacheRecord)
    case write(CacheRecord, for: Duration)
    case refuse
  }

  /// The most changes under way; beyond it, responses stay in this instance.
  private static let maximumChanges = 64
  private static let maximumBytes = 16 * 1024 * 1024
  /// The time after which a mark is too old: a removal may have been forgotten.
  private static let markAge = Duration.seconds(300)
  private static let longestRetention = Duration.seconds(7 * 86_400)
  /// The time for which a stale response is kept, to be validated.
  private static let staleRetention = Duration.seconds(86_400)

  /// Writes a change into the store, after this process's earlier ones of the same URL. No request waits for it.
  ///
  /// A response that cannot be written stays in this instance. A removal that cannot be written becomes one of all
  /// responses of the URL, which is repeated.
  func change(_ key: CacheKey, _ mark: [UInt8], _ change: Change) {
    let mark = CacheMark(mark)
    guard mark != nil || change.isRemoval else { return }
    let bytes = change.bytes
    state.withLock { state in
      guard
        change.isRemoval
          || state.changesUnderWay < Self.maximumChanges && state.bytesUnderWay + bytes <= Self.maximumBytes
      else { return }
      state.changesUnderWay += 1
      state.bytesUnderWay += bytes
      state.lastID += 1
      let (id, previous) = (state.lastID, state.changes[key.url]?.task)
      let task = Task { [self] in
        _ = await previous?.value
        let written = await write(change, key, mark)
        self.state.withLock { state in
          state.changesUnderWay -= 1
          state.bytesUnderWay -= bytes
          if state.changes[key.url]?.id == id { state.changes[key.url] = nil }
        }
        return written
      }
      state.changes[key.url] = (id, task)
      state.announced[key.url]?.change = task
    }
  }

  /// Returns when the changes, endings of leases and removals that are under way are over. For tests.
  func settled() async {
    while let task = state.withLock({ $0.changes.values.first?.task }) { _ = await task.value }
    while let task = state.withLock({ $0.endings.values.first }) { await task.value }
    while let task = state.withLock({ $0.settlings.values.first }) { _ = await task.value }
  }

  /// Returns the store's time at which a response was written; `nil` if none was.
  private func write(_ change: Change, _ key: CacheKey, _ mark: CacheMark?) async -> Duration? {
    switch change {
    case .remove(let selecting, let received):
      if let mark, await remove(selecting, receivedBy: received, key, mark) { return nil }
      note(.url(key.url))
      await settle(.url(key.url))
      return nil
    case .put(let response):
      guard let mark, let place = cipher.place(.responses, mark.epoch, key) else { return nil }
      let age = time.now() - .microseconds(Int64(clamping: mark.updated))
      guard age < Self.markAge, state.withLock({ $0.epoch?.number }) == mark.epoch else { return nil }
      let retention = retention(of: response.head)
      let isShared =
        response.body.count <= settings.maximumSharedBytes && !response.head.head.headerFields.contains(.setCookie)
      if !key.partition.isEmpty || !isShared {
        // A response that is kept in this instance needs the number, too, or it would count as removed.
        guard await extend(key.url, mark, for: retention) else { return nil }
      }
      guard isShared else { return nil }
      return await put(response, at: place, ofURL: key.partition.isEmpty, mark, for: retention)
    }
  }

  /// Removes one response from the store, however old its mark is.
  ///
  /// - Returns: whether the store does not have the response any more.
  private func remove(
    _ selecting: [UInt8], receivedBy received: Duration, _ key: CacheKey, _ mark: CacheMark
  ) async -> Bool {
    guard let place = cipher.place(.responses, mark.epoch, key) else { return false }
    let latest = received + link.offset + CacheRecord.tolerance
    var isGone = false
    let found = await changeRecord(at: place, readsFirst: true) { record in
      guard var record, record.generation == mark.generation, record.remove(selecting, notAfter: latest) else {
        isGone = true
        return .refuse
      }
      isGone = false
      let rest = record.end - Self.now(at: link.offset, time)
      return .write(record, for: Self.lifetime(rest, isURL: key.partition.isEmpty))
    }
    return isGone || found != nil
  }

  /// Returns the time for which a record is kept that has responses for some time.
  ///
  /// The number of a URL outlives all marks that were made before it, because a removal is forgotten with it.
  private static func lifetime(_ rest: Duration, isURL: Bool) -> Duration {
    max(rest, isURL ? tombstoneAge : .seconds(1))
  }

  /// Makes sure that the record of a URL is kept as long as a response of it.
  private func extend(_ url: [UInt8], _ mark: CacheMark, for retention: Duration) async -> Bool {
    guard let place = cipher.place(.responses, mark.epoch, CacheKey(url: url)) else { return false }
    let end = Self.now(at: link.offset, time) + retention
    let found = await changeRecord(at: place, readsFirst: true) { record in
      guard var next = record else {
        // The store has evicted the number: with it, records that were removed would count again.
        guard mark.isNew else { return .refuse }
        return .write(CacheRecord(generation: mark.generation, end: end), for: Self.lifetime(retention, isURL: true))
      }
      guard next.generation == mark.generation else { return .refuse }
      guard next.end < end else { return .keep(next) }
      next.end = end
      return .write(next, for: Self.lifetime(retention, isURL: true))
    }
    return found != nil
  }

  private func put(
    _ response: CacheRecord.Response, at place: CacheCipher.Place, ofURL isURL: Bool, _ mark: CacheMark,
    for retention: Duration
  ) async -> Duration? {
    let (offset, maximum) = (link.offset, settings.maximumSharedBytes)
    let moved = CacheRecord.Response(head: response.head.moved(by: offset), body: response.body)
    let now = Self.now(at: offset, time)
    return await changeRecord(at: place, readsFirst: isURL && !mark.isNew) { record in
      // As above.
      if record == nil, isURL, !mark.isNew { return .refuse }
      var next = record ?? CacheRecord(generation: mark.generation)
      if next.generation != mark.generation {
        // The number of a URL is never changed here: the responses have been removed.
        if isURL { return .refuse }
        next = CacheRecord(generation: mark.generation)
      }
      guard next.add(moved, maximumBytes: maximum) else { return .keep(next) }
      next.end = max(next.end, now + retention)
      return .write(next, for: Self.lifetime(next.end - now, isURL: isURL))
    }?.time
  }

  /// Changes a record in one step for all instances, again if others have changed it.
  ///
  /// - Parameters:
  ///   - readsFirst: whether the record probably exists. Otherwise the first try assumes that it does not.
  ///   - decide: decides about the current record; `nil` if there is none, or it cannot be read.
  /// - Returns: the record afterwards; `nil` if the change is refused, or the store is lost.
  func changeRecord(
    at place: CacheCipher.Place, readsFirst: Bool = false, _ decide: (CacheRecord?) -> RecordChange
  ) async -> (record: CacheRecord, time: Duration)? {
    var current: StoredValue?
    if readsFirst {
      current = await link.read(place.name)
      if current == nil { return nil }
    }
    for _ in 0..<Self.tries {
      switch decide(record(current?.bytes, at: place)) {
      case .refuse: return nil
      case .keep(let record):
        guard let current else { return nil }
        return (record, current.time)
      case .write(let record, let lifetime):
        guard let bytes = record.encoded(), let sealed = cipher.sealed(bytes, for: place),
          let value = await link.set(place.name, to: sealed, ifCurrently: current?.bytes, for: lifetime)
        else { return nil }
        if value.bytes == sealed { return (record, value.time) }
        current = value
      }
    }
    return nil
  }

  /// Returns the time for which a response is kept in the store: until it can be neither served nor validated.
  private func retention(of head: StoredHead) -> Duration {
    let freshness = CacheFreshness(of: head.entry, now: time.sinceEpoch(), rules: settings.rules)
    let fields = head.head.headerFields
    let isUseful = fields.contains(.eTag) || fields.contains(.lastModified)
    let stale = isUseful ? Self.staleRetention : .seconds(60)
    return min(max(freshness.left, .zero) + stale, Self.longestRetention)
  }

  private static func now(at offset: Duration, _ time: TimeSource) -> Duration { time.sinceEpoch() + offset }
}
