// SPDX-License-Identifier: Apache-2.0

/// What a ``CachingResolver`` knows of names, and which are being looked up: decisions only, with times from outside.
struct NameMemory<Name: Hashable & Sendable, Answer: Sendable, Failure: Sendable>: Sendable {
  /// What is to become of a question.
  enum Step {
    case answered(Answer)
    /// Answered, and a look-up is to be begun for those who ask later.
    case refresh(Answer)
    case failed(Failure)
    /// A look-up is under way.
    case wait
    /// One is to be begun.
    case lookUp
  }

  private enum Outcome {
    case answer(Answer)
    case failure(Failure)
  }

  private struct Entry {
    var outcome: Outcome
    var freshUntil: Duration
    /// Until then an answer serves where a look-up fails.
    var usableUntil: Duration
    /// From then on who asks has it looked up anew; `nil`: never.
    var refreshFrom: Duration?
    /// How often the answer was used, and those before it.
    var turns = 0
  }

  static var timesToLive: ClosedRange<Duration> { .seconds(1)...(.seconds(3_600)) }
  /// For an answer that says nothing of it.
  static var unknownTimeToLive: Duration { .seconds(60) }
  static var longestAbsence: Duration { .seconds(60) }
  /// For an absence that says nothing of it.
  static var unknownAbsence: Duration { .seconds(5) }
  /// RFC 9520 §3.2: a failure is remembered for a second at least.
  static var failureTime: Duration { .seconds(1) }
  /// RFC 8767 §5.
  static var staleTime: Duration { .seconds(3_600) }
  /// After a failure a stale answer serves for so long before the name is looked up again (RFC 8767 §5).
  static var pauseWithStale: Duration { .seconds(30) }
  static var most: Int { 4_096 }
  /// The share of its time after which an answer that is used is looked up anew.
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

  /// A look-up brought an answer.
  ///
  /// - Parameter isAbsence: whether it is that the name has no address.
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

  /// A look-up failed.
  ///
  /// - Returns: a stale answer that serves instead.
  mutating func note(_ failure: Failure, of name: Name, now: Duration) -> Answer? {
    guard underWay.remove(name) != nil else { return nil }
    if var entry = entries[name], case .answer(let answer) = entry.outcome, now < entry.usableUntil {
      // One that was looked up ahead of its time stays until then.
      if now >= entry.freshUntil { entry.freshUntil = min(now + Self.pauseWithStale, entry.usableUntil) }
      entry.refreshFrom = nil
      entries[name] = entry
      return answer
    }
    let until = now + Self.failureTime
    keep(Entry(outcome: .failure(failure), freshUntil: until, usableUntil: until), of: name, now: now)
    return nil
  }

  /// A look-up was given up: the next who asks begins another.
  mutating func noteGivenUp(_ name: Name) { underWay.remove(name) }

  /// What a look-up that is under way brings is kept nevertheless.
  mutating func forget(_ name: Name) { entries[name] = nil }

  /// How often what is kept of a name was used before.
  mutating func turn(of name: Name) -> Int {
    guard let turns = entries[name]?.turns else { return 0 }
    entries[name]?.turns = turns &+ 1
    return turns
  }

  mutating func forgetAll() { entries = [:] }

  private mutating func keep(_ entry: Entry, of name: Name, now: Duration) {
    if entries[name] == nil, entries.count >= Self.most {
      entries = entries.filter { now < $0.value.usableUntil }
      // Many at once, so that not each new name looks through all.
      if entries.count >= Self.most {
        for old in entries.sorted(by: { $0.value.freshUntil < $1.value.freshUntil }).prefix(Self.most / 8) {
          entries[old.key] = nil
        }
      }
    }
    var entry = entry
    entry.turns = entries[name]?.turns ?? 0
    entries[name] = entry
  }
}
