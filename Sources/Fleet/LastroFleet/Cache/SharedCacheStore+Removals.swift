// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroEveryday
internal import LastroSupport

extension SharedCacheStore {
  /// Writes the removals that concern a URL into the store.
  ///
  /// - Parameter url: the URL; `nil` for the removal of all responses only.
  /// - Returns: whether the store has heard of all of them.
  func settleRemovals(of url: [UInt8]?) async -> Bool {
    let removals = state.withLock { $0.removals }
    if let number = removals.all {
      guard await replaceEpoch() else { return false }
      state.withLock { $0.removals.settledAll(number) }
    }
    guard let url, let number = removals.urls[url] else { return true }
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
