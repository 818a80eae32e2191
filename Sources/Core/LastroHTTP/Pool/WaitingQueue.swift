// SPDX-License-Identifier: Apache-2.0

/// The requests that wait for a connection, in the order in which they will be served.
struct WaitingQueue: Hashable {
  struct Entry: Hashable {
    let request: UInt64
    /// Whether the request needs a connection that has served no other request.
    let wantsFresh: Bool
    let enteredAt: Int64
    /// The maximum time that the request waits for a dial; `nil` for no limit.
    let dialLimit: Duration?
    /// The time at which the wait for a dial began; `nil` while no dial will serve the request.
    var dialBeganAt: Int64?

    init(_ request: UInt64, wantsFresh: Bool = false, enteredAt: Int64, dialLimit: Duration? = nil) {
      self.request = request
      self.wantsFresh = wantsFresh
      self.enteredAt = enteredAt
      self.dialLimit = dialLimit
    }

    /// Returns whether the maximum wait for a dial has passed.
    func isLate(now: Int64) -> Bool {
      guard let dialBeganAt, let dialLimit else { return false }
      return now >= dialBeganAt.adding(dialLimit)
    }
  }

  private static let leastToTidy = 64

  /// The entries; a removed request leaves `nil` behind.
  private var entries: [Entry?] = []
  private var next = 0
  /// The position of the first element. Positions change only when the entries are compacted.
  private var base = 0
  private var positions: [UInt64: Int] = [:]

  var count: Int { positions.count }
  var isEmpty: Bool { positions.isEmpty }

  /// Returns whether a request is in the queue.
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

  /// Removes a request from anywhere in the queue.
  ///
  /// - Returns: false if the request is not in the queue.
  mutating func remove(_ request: UInt64) -> Bool {
    guard let position = positions.removeValue(forKey: request) else { return false }
    entries[position - base] = nil
    tidy()
    return true
  }

  /// Removes and returns the first request that a connection may serve; `nil` if there is none.
  ///
  /// - Parameter isFresh: whether the connection has served no request yet.
  mutating func popFirst(isFresh: Bool = true) -> UInt64? {
    // This is a short search: few requests need a fresh connection, and they are in front.
    for index in entries.indices[next...] {
      guard let entry = entries[index], isFresh || !entry.wantsFresh else { continue }
      _ = remove(entry.request)
      return entry.request
    }
    return nil
  }

  /// Returns the first entry after `skipped` others.
  func entry(behind skipped: Int) -> Entry? { waiting.dropFirst(skipped).first { _ in true } }

  /// The queued entries, in order.
  var waiting: some Sequence<Entry> { entries[next...].lazy.compactMap { $0 } }

  /// Starts the wait for a dial of the first `limit` requests, and returns those that had not waited for one before.
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
