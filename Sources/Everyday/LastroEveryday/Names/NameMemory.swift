// SPDX-License-Identifier: Apache-2.0

/// The cache of a ``CachingResolver``, and the names being looked up. It makes decisions only: times are passed in.
struct NameMemory<Name: Hashable & Sendable, Answer: Sendable, Failure: Sendable>: Sendable {
  /// The reaction to a request for a name.
  enum Step {
    case answered(Answer)
    /// Return this answer, and begin a look-up for later requests.
    case refresh(Answer)
    case failed(Failure)
    /// Wait for the look-up in progress.
    case wait
    /// Begin a look-up.
    case lookUp
  }

  private enum Outcome {
    case answer(Answer)
    case failure(Failure)
  }

  private struct Entry {
    var outcome: Outcome
    var freshUntil: Duration
    /// The time until which an answer may be used if a look-up fails.
    var usableUntil: Duration
    /// The time from which a request starts a new look-up; `nil`: never.
    var refreshFrom: Duration?
  }

  static var timesToLive: ClosedRange<Duration> { .seconds(1)...(.seconds(3_600)) }
  /// The time to live of addresses without one.
  static var unknownTimeToLive: Duration { .seconds(60) }
  static var longestAbsence: Duration { .seconds(60) }
  /// The time to live of an absence without one.
  static var unknownAbsence: Duration { .seconds(5) }
  /// The time for which a failure is remembered: a second at least (RFC 9520 §3.2).
  static var failureTime: Duration { .seconds(1) }
  /// The time for which an expired answer may be used (RFC 8767 §5).
  static var staleTime: Duration { .seconds(3_600) }
  /// The time after a failed look-up before the name is looked up again, while a stale answer is used (RFC 8767 §5).
  static var pauseWithStale: Duration { .seconds(30) }
  static var most: Int { 4_096 }
  /// The fraction of the time to live after which a request starts a new look-up.
  static var refreshShare: Double { 0.9 }

  private var entries: [Name: Entry] = [:]
  private var underWay: Set<Name> = []

  var count: Int { entries.count }

  mutating func ask(_ name: Name, now: Duration) -> Step {
    if let entry = entries[name], now < entry.freshUntil {
      switch entry.outcome {
      case .answer(let answer):
        let isDue = entry.refreshFrom.map { now >= $0 } ?? false
        return isDue && underWay.insert(name).inserted ? .refresh(answer) : .answered(answer)
      case .failure(let failure): return .failed(failure)
      }
    }
    return underWay.insert(name).inserted ? .lookUp : .wait
  }

  /// Records the answer of a look-up.
  ///
  /// - Parameter isAbsence: whether the answer is that the name has no address.
  mutating func note(_ answer: Answer, of name: Name, timeToLive: Duration?, isAbsence: Bool, now: Duration) {
    guard underWay.remove(name) != nil else { return }
    let longest = isAbsence ? Self.longestAbsence : Self.timesToLive.upperBound
    let told = timeToLive ?? (isAbsence ? Self.unknownAbsence : Self.unknownTimeToLive)
    let until = now + min(max(told, Self.timesToLive.lowerBound), longest)
    let usableUntil = isAbsence ? until : until + Self.staleTime
    let refreshFrom = isAbsence ? nil : now + (until - now) * Self.refreshShare
    keep(
      Entry(outcome: .answer(answer), freshUntil: until, usableUntil: usableUntil, refreshFrom: refreshFrom), of: name,
      now: now)
  }

  /// Records the failure of a look-up.
  ///
  /// - Returns: a stale answer to use instead, if there is one.
  mutating func note(_ failure: Failure, of name: Name, now: Duration) -> Answer? {
    guard underWay.remove(name) != nil else { return nil }
    if var entry = entries[name], case .answer(let answer) = entry.outcome, now < entry.usableUntil {
      // An answer that was refreshed early remains fresh until its own time.
      if now >= entry.freshUntil { entry.freshUntil = min(now + Self.pauseWithStale, entry.usableUntil) }
      entry.refreshFrom = nil
      entries[name] = entry
      return answer
    }
    let until = now + Self.failureTime
    keep(Entry(outcome: .failure(failure), freshUntil: until, usableUntil: until), of: name, now: now)
    return nil
  }

  /// Records that a look-up was abandoned, so that the next request begins another.
  mutating func abandonLookUp(of name: Name) { underWay.remove(name) }

  /// Removes a name. The result of a look-up in progress is still stored.
  mutating func forget(_ name: Name) { entries[name] = nil }

  mutating func forgetAll() { entries = [:] }

  private mutating func keep(_ entry: Entry, of name: Name, now: Duration) {
    if entries[name] == nil, entries.count >= Self.most {
      entries = entries.filter { now < $0.value.usableUntil }
      // Evict many entries at once, so that not every new name has to sort all of them.
      if entries.count >= Self.most {
        for old in entries.sorted(by: { $0.value.freshUntil < $1.value.freshUntil }).prefix(Self.most / 8) {
          entries[old.key] = nil
        }
      }
    }
    entries[name] = entry
  }
}
