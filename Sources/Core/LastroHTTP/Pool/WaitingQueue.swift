// SPDX-License-Identifier: Apache-2.0

/// Requests that wait for a connection, in the order in which they will be served.
struct WaitingQueue: Hashable {
  struct Entry: Hashable {
    let request: UInt64
    /// Whether a connection that has served another request will not do.
    let wantsFresh: Bool
    let enteredAt: Int64
    /// The longest time for which it waits for a dial; `nil` for no limit.
    let dialLimit: Duration?
    /// The time at which the dial began that it waits for; `nil` while it waits for another request's end.
    fileprivate(set) var dialBeganAt: Int64?

    init(_ request: UInt64, wantsFresh: Bool = false, enteredAt: Int64, dialLimit: Duration? = nil) {
      self.request = request
      self.wantsFresh = wantsFresh
      self.enteredAt = enteredAt
      self.dialLimit = dialLimit
    }

    /// Whether its wait for a dial is over.
    func isLate(now: Int64) -> Bool {
      guard let dialBeganAt, let dialLimit else { return false }
      return now >= dialBeganAt.adding(dialLimit)
    }
  }

  private static let leastToTidy = 64

  /// Requests that are gone leave a hole.
  private var entries: [Entry?] = []
  private var next = 0
  /// The position of the first entry; positions do not change while entries lie in front.
  private var base = 0
  private var positions: [UInt64: Int] = [:]

  var count: Int { positions.count }
  var isEmpty: Bool { positions.isEmpty }

  /// Whether a request waits.
  func contains(_ request: UInt64) -> Bool { positions[request] != nil }

  mutating func append(_ entry: Entry) {
    positions[entry.request] = base + entries.count
    entries.append(entry)
  }

  mutating func prepend(_ entry: Entry) {
    if next == 0 {
      entries.insert(nil, at: 0)
      base -= 1
    } else {
      next -= 1
    }
    entries[next] = entry
    positions[entry.request] = base + next
  }

  /// Takes a request out, at whichever place it waits.
  ///
  /// - Returns: false where it does not wait.
  mutating func remove(_ request: UInt64) -> Bool {
    guard let position = positions.removeValue(forKey: request) else { return false }
    entries[position - base] = nil
    tidy()
    return true
  }

  /// Takes the first out that a connection may serve.
  ///
  /// - Parameter isFresh: whether the connection has served none yet.
  mutating func popFirst(isFresh: Bool = true) -> UInt64? {
    // Few want a fresh one, and they are in front.
    for index in entries.indices[next...] {
      guard let entry = entries[index], isFresh || !entry.wantsFresh else { continue }
      _ = remove(entry.request)
      return entry.request
    }
    return nil
  }

  /// Returns the entry behind as many that wait as these.
  func entry(behind skipped: Int) -> Entry? { waiting.dropFirst(skipped).first { _ in true } }

  /// The entries in their order.
  var waiting: some Sequence<Entry> { entries[next...].lazy.compactMap { $0 } }

  /// Notes that the dial began which the first of them wait for, and returns those that did not wait for one before.
  mutating func beginWaits(ofFirst limit: Int, now: Int64) -> [UInt64] {
    var begun: [UInt64] = []
    var left = limit
    for index in entries.indices[next...] where left > 0 {
      guard let entry = entries[index] else { continue }
      left -= 1
      if entry.dialBeganAt != nil { continue }
      entries[index]?.dialBeganAt = now
      begun.append(entry.request)
    }
    return begun
  }

  /// Notes that a request waits for the dial under way. False: it did before.
  mutating func beginWait(of request: UInt64, now: Int64) -> Bool {
    guard let position = positions[request], entries[position - base]?.dialBeganAt == nil else { return false }
    entries[position - base]?.dialBeganAt = now
    return true
  }

  private mutating func tidy() {
    while next < entries.count, entries[next] == nil { next += 1 }
    if positions.isEmpty {
      entries.removeAll(keepingCapacity: entries.count <= Self.leastToTidy)
      next = 0
      base = 0
    } else if entries.count > 2 * count + Self.leastToTidy {
      entries = waiting.map { $0 }
      next = 0
      base = 0
      for (index, entry) in entries.enumerated() { if let entry { positions[entry.request] = index } }
    }
  }
}
