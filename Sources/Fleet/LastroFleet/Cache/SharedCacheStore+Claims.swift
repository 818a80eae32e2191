// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroEveryday
internal import LastroSupport

extension SharedCacheStore {
  private static let firstPause = Duration.milliseconds(10)
  private static let longestPause = Duration.milliseconds(160)

  func takeNotes() -> [TransferFacts.Note] { link.takeNotes() }

  func words() -> String { "shared as \(settings.name)" + (link.loss.map { "; \($0)" } ?? "") }

  /// Writes the lease of a request, or waits until another instance has ended its own.
  func claim(
    _ key: CacheKey, _ variant: String, after mark: [UInt8], within limit: Duration?
  ) async -> (claim: CacheClaim, waited: Duration) {
    guard let mark = CacheMark(mark), let place = cipher.place(.lease, mark.epoch, key, variant) else {
      return (.refused, .zero)
    }
    let start = time.now()
    let end = start + min(settings.patience, limit ?? settings.patience)
    var pause = Self.firstPause
    var hasWaited = false
    var waited: Duration { hasWaited ? time.now() - start : .zero }
    let own = CacheLease(.held, number: .random(in: 0 ... .max)).bytes
    var ended: [UInt8]?
    while true {
      let rest = end - time.now()
      guard rest > .zero else { return (.refused, waited) }
      // The value is the lease of this instance if none was there, and otherwise that of the other.
      let value = await link.set(place.name, to: own, ifCurrently: ended, for: settings.patience, within: rest) {
        [self] value in
        // The request has not waited for its lease, and sends no response for it. The store may count as lost because
        // its response was late.
        if value.bytes == own { await self.end(place, own, storedAt: nil, evenIfLost: true) }
      }
      guard let value else { return (.refused, waited) }
      if value.bytes == own { return (granted(key.url, place, own), waited) }
      guard let bytes = value.bytes else {
        ended = nil
        continue
      }
      switch CacheLease(bytes) {
      case nil: return (.refused, waited)
      case let lease? where lease.state == .unstored: return (.refused, waited)
      case let lease? where lease.state == .stored:
        if lease.time >= mark.time { return (.stored, waited) }
        // The response from then was found, and may not be served any more.
        ended = bytes
      case .some:
        ended = nil
        hasWaited = true
        let left = end - time.now()
        guard left > .zero else { return (.refused, waited) }
        // Instances that wait for the same lease do not look together.
        let wait = min(left, pause * (0.5 + settings.random.unit() / 2))
        guard (try? await time.sleep(wait)) != nil else { return (.refused, waited) }
        pause = min(pause * 2, Self.longestPause)
      }
    }
  }

  private func granted(_ url: [UInt8], _ place: CacheCipher.Place, _ own: [UInt8]) -> CacheClaim {
    state.withLock { $0.announced[url, default: (0, nil)].count += 1 }
    return .granted { [self] isStored in
      state.withLock { state in
        let change = state.announced[url]?.change
        state.announced[url]?.count -= 1
        if state.announced[url]?.count == 0 { state.announced[url] = nil }
        state.lastID += 1
        let id = state.lastID
        state.endings[id] = Task { [self] in
          await end(place, own, storedAt: isStored ? await change?.value : nil)
          self.state.withLock { $0.endings[id] = nil }
        }
      }
    }
  }

  /// Ends a lease, so that the instances that wait for it continue.
  private func end(
    _ place: CacheCipher.Place, _ own: [UInt8], storedAt time: Duration?, evenIfLost: Bool = false
  ) async {
    let number = UInt64.random(in: 0 ... .max)
    let lease =
      time.map { CacheLease(.stored, number: number, time: UInt64($0.wholeMicroseconds)) }
      ?? CacheLease(.unstored, number: number)
    _ = await link.set(
      place.name, to: lease.bytes, ifCurrently: own, for: settings.patience, evenIfLost: evenIfLost)
  }
}
