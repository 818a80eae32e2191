// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroEveryday
internal import LastroSupport

extension SharedCacheStore {
  /// The pause between two tries to write the removals that the store has not heard of.
  static let removalPause = Duration.seconds(5)

  /// The responses that a removal concerns.
  enum RemovalScope: Hashable {
    case url([UInt8])
    case all
  }

  /// Notes a removal, which counts in this process from now on.
  func note(_ scope: RemovalScope) {
    state.withLock { state in
      switch scope {
      case .url(let url):
        state.removals.add(url)
        state.updates[url]?.removals += 1
      case .all:
        state.removals.addAll()
        for url in state.updates.keys { state.updates[url]?.removals += 1 }
      }
    }
  }

  /// Writes a noted removal into the store, now or as soon as the store is reached. Returns after the first try.
  func settle(_ scope: RemovalScope) async {
    if await !settleRemovals(of: scope) { repeatRemovals() }
  }

  /// Writes the removals that concern a URL, or those of all responses, into the store.
  ///
  /// - Returns: whether the store has heard of all of them.
  func settleRemovals(of scope: RemovalScope) async -> Bool {
    if scope != .all {
      guard await settleRemovals(of: .all) else { return false }
    }
    while true {
      // One task at a time writes, so that none of them removes what was stored after the other. It goes on if the
      // caller is cancelled.
      let task = state.withLock { state -> Task<Bool, Never>? in
        guard state.removals.includes(scope) else { return nil }
        if let task = state.settlings[scope] { return task }
        let task = Task { [self] in
          let isSettled = await write(scope)
          self.state.withLock { $0.settlings[scope] = nil }
          return isSettled
        }
        state.settlings[scope] = task
        return task
      }
      guard let task else { return true }
      guard await task.value else { return false }
    }
  }

  /// Tries again from time to time to write the removals that the store has not heard of, until it has heard of all.
  private func repeatRemovals() {
    state.withLock { state in
      guard state.repetition == nil, !state.removals.isEmpty else { return }
      state.repetition = Task { [weak self, time] in
        repeat {
          // A limit, because a clock of a test does not advance for it.
          guard (try? await time.limit(Self.removalPause)) != nil else { return }
        } while await self?.settlesLater() == true
      }
    }
  }

  /// Returns whether removals are left after another try.
  private func settlesLater() async -> Bool {
    for scope in state.withLock({ $0.removals.scopes }) {
      guard await settleRemovals(of: scope) else { break }
    }
    return state.withLock { state in
      if state.removals.isEmpty { state.repetition = nil }
      return !state.removals.isEmpty
    }
  }

  /// Writes a removal into the store, if it has not heard of it.
  private func write(_ scope: RemovalScope) async -> Bool {
    let removals = state.withLock { $0.removals }
    guard case .url(let url) = scope else {
      guard let number = removals.all else { return true }
      guard await replaceEpoch() else { return false }
      state.withLock { $0.removals.settledAll(number) }
      return true
    }
    guard let number = removals.urls[url] else { return true }
    var current = await currentEpoch()
    for _ in 0..<Self.tries {
      guard let epoch = current, await replaceGeneration(of: url, epoch) else { return false }
      // Another instance may have replaced the number of the cache, and the responses are under that one.
      current = await currentEpoch(isRead: true)
      if current == epoch {
        state.withLock { $0.removals.settled(url, number) }
        return true
      }
    }
    return false
  }

  /// Replaces the number of a URL's responses, so that none of them counts.
  private func replaceGeneration(of url: [UInt8], _ epoch: UInt64) async -> Bool {
    guard let place = cipher.place(.responses, epoch, CacheKey(url: url)) else { return false }
    let next = CacheRecord(generation: .random(in: 0 ... .max))
    let found = await changeRecord(at: place) { record in
      record?.generation == next.generation ? .keep(next) : .write(next, for: Self.tombstoneAge)
    }
    return found != nil
  }

  /// Returns the number of the cache; `nil` if the store is lost.
  ///
  /// - Parameter isRead: whether it is read in any case. Default false: if it was last read ten seconds ago.
  func currentEpoch(isRead: Bool = false) async -> UInt64? {
    let (now, returns) = (time.now(), link.returns)
    let (known, replacements) = state.withLock { state -> (UInt64?, UInt64) in
      guard !isRead, let epoch = state.epoch, epoch.returns == returns else { return (nil, state.replacements) }
      if now < epoch.until { return (epoch.number, state.replacements) }
      // Other requests use the number meanwhile.
      state.epoch?.until = now + .seconds(1)
      return (nil, state.replacements)
    }
    if let known { return known }
    guard let place = cipher.place(.epoch, 0, CacheKey(url: [])), let value = await link.read(place.name) else {
      return nil
    }
    var found = epoch(value.bytes, at: place)
    if found == nil { found = await writeEpoch(at: place, over: value.bytes) { $0 } }
    guard let found else { return nil }
    let until = time.now() + Self.epochAge
    return state.withLock { state in
      // This process may have replaced the number since it was read.
      guard state.replacements == replacements else { return nil }
      state.epoch = (found, until, returns)
      return found
    }
  }

  /// Replaces the number of the cache, so that no stored response is found.
  private func replaceEpoch() async -> Bool {
    guard let place = cipher.place(.epoch, 0, CacheKey(url: [])),
      let number = await writeEpoch(at: place, over: nil, accepts: { _ in nil })
    else { return false }
    let (until, returns) = (time.now() + Self.epochAge, link.returns)
    state.withLock { state in
      state.replacements += 1
      state.epoch = (number, until, returns)
    }
    return true
  }

  /// Writes a new number.
  ///
  /// - Parameter accepts: returns the number to use instead, if another instance has written one.
  private func writeEpoch(
    at place: CacheCipher.Place, over old: [UInt8]?, accepts: (UInt64) -> UInt64?
  ) async -> UInt64? {
    let number = UInt64.random(in: 0 ... .max)
    guard let sealed = cipher.sealed(WordBytes.encode(number), for: place) else { return nil }
    var current = old
    for _ in 0..<Self.tries {
      guard
        let value = await link.set(place.name, to: sealed, ifCurrently: current, for: Self.epochRetention)
      else { return nil }
      if value.bytes == sealed { return number }
      if let found = epoch(value.bytes, at: place).flatMap(accepts) { return found }
      current = value.bytes
    }
    return nil
  }

  private func epoch(_ bytes: [UInt8]?, at place: CacheCipher.Place) -> UInt64? {
    bytes.flatMap { cipher.opened($0, of: place) }.flatMap { WordBytes.decode($0, count: 1)?.first }
  }
}
