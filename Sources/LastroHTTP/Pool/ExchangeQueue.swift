// SPDX-License-Identifier: Apache-2.0

/// Exchanges that wait for a connection, in the order in which they came. One that is over is not searched for: it is
/// passed over when its turn comes, or let go when such are the greater part.
struct ExchangeQueue {
  private static let leastToTidy = 64

  /// Taken ones leave a hole, so that they are not kept alive.
  private var entries: [Exchange?] = []
  private var next = 0
  /// The number of exchanges that wait.
  private(set) var count = 0

  mutating func append(_ exchange: Exchange) {
    entries.append(exchange)
    count += 1
  }

  mutating func prepend(_ exchange: Exchange) {
    count += 1
    guard next > 0 else { return entries.insert(exchange, at: 0) }
    next -= 1
    entries[next] = exchange
  }

  /// Takes the first out that a connection may serve.
  ///
  /// - Parameter isFresh: whether the connection has served none yet.
  mutating func popFirst(isFresh: Bool = true) -> Exchange? {
    while next < entries.count, entries[next]?.state != .waiting {
      entries[next] = nil
      next += 1
    }
    // Few want a fresh one, and they are in front.
    for index in entries.indices[next...] {
      guard let entry = entries[index], entry.state == .waiting, isFresh || !entry.wantsFresh else { continue }
      entries[index] = nil
      noteGone()
      return entry
    }
    return nil
  }

  /// Notes that an exchange waits no longer.
  mutating func noteGone() {
    count -= 1
    if count == 0 {
      entries.removeAll(keepingCapacity: entries.count <= Self.leastToTidy)
      next = 0
    } else if entries.count > 2 * count + Self.leastToTidy {
      entries = all.map { $0 }
      next = 0
    }
  }

  var all: some Sequence<Exchange> {
    entries[next...].lazy.compactMap { $0?.state == .waiting ? $0 : nil }
  }

  /// The first behind as many that wait as these.
  func first(behind skipped: Int) -> Exchange? { all.dropFirst(skipped).first { _ in true } }
}
