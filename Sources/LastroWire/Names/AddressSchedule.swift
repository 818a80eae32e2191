// SPDX-License-Identifier: Apache-2.0

/// When which address of a name is dialed (Happy Eyeballs v2, RFC 8305): the families in turn, the next one 250 ms
/// after the one before, or at once when one fails. The first that stands ends it.
///
/// Addresses are text; one with a colon is of IPv6. Times are nanoseconds of any clock that runs on.
package struct AddressSchedule: Sendable {
  /// What has come of it.
  package enum State: Sendable, Hashable {
    /// Attempts are under way, or to be begun, or addresses may still come.
    case going
    /// One stands.
    case won(String)
    /// All were tried, or one failed in a way that ends all.
    case failed
    /// It was given up.
    case cancelled
  }

  /// Between the beginnings of two attempts.
  package static let stagger: Int64 = 250_000_000
  /// Further addresses of a name are left out.
  package static let most = 64

  package private(set) var state = State.going
  /// Attempts that are under way, with the times at which they began.
  package private(set) var running: [String: Int64] = [:]
  /// Those that no attempt was begun at, in their order.
  package private(set) var waiting: [String] = []
  private var known: Set<String> = []
  private var isComplete = false
  private var nextAt = Int64.min
  /// Family of the attempt that was begun last.
  private var lastIsIPv6: Bool?

  package init() {}

  /// Addresses have come, the best first; late ones join those that wait.
  ///
  /// - Parameters:
  ///   - isComplete: whether no more will come.
  ///   - isDead: those that are tried last.
  package mutating func add(_ addresses: [String], isComplete: Bool, isDead: (String) -> Bool = { _ in false }) {
    guard state == .going, !self.isComplete else { return }
    self.isComplete = isComplete
    for address in addresses where known.count < Self.most && known.insert(address).inserted {
      waiting.append(address)
    }
    let dead = waiting.filter(isDead)
    waiting = interleaved(waiting.filter { !isDead($0) }) + interleaved(dead)
    conclude()
  }

  /// The families in turn: first that of the first address, or the one that was not begun last.
  private func interleaved(_ addresses: [String]) -> [String] {
    guard let first = addresses.first else { return [] }
    var isIPv6 = lastIsIPv6.map { !$0 } ?? Self.isIPv6(first)
    var families = [true: ArraySlice<String>(), false: ArraySlice<String>()]
    for address in addresses { families[Self.isIPv6(address), default: []].append(address) }
    var result: [String] = []
    while result.count < addresses.count {
      if let next = families[isIPv6]?.popFirst() { result.append(next) }
      isIPv6.toggle()
    }
    return result
  }

  private static func isIPv6(_ address: String) -> Bool { address.utf8.contains(UInt8(ascii: ":")) }

  /// When ``next(now:)`` gives an address; `Int64.max` while nothing waits.
  package var due: Int64 { state == .going && !waiting.isEmpty ? nextAt : .max }

  /// The address to begin an attempt at now; `nil`: not yet, or none.
  package mutating func next(now: Int64) -> String? {
    guard now >= due, state == .going, !waiting.isEmpty else { return nil }
    let address = waiting.removeFirst()
    running[address] = now
    lastIsIPv6 = Self.isIPv6(address)
    nextAt = now &+ Self.stagger
    return address
  }

  /// An attempt failed: the next one is begun at once.
  ///
  /// - Parameter isFinal: whether no other address may be tried: of a server that was not trusted another address must
  ///   not be a way around.
  package mutating func noteFailed(_ address: String, isFinal: Bool = false) {
    guard state == .going, running.removeValue(forKey: address) != nil else { return }
    nextAt = .min
    if isFinal { state = .failed }
    conclude()
  }

  /// An attempt stands; what is still ``running`` then is to be closed. An attempt that began a ``stagger`` or more
  /// before the winner was slow.
  ///
  /// - Returns: those that were slow.
  package mutating func noteWon(_ address: String) -> [String] {
    guard state == .going, let began = running.removeValue(forKey: address) else { return [] }
    state = .won(address)
    waiting = []
    return running.filter { began - $0.value >= Self.stagger }.map(\.key)
  }

  package mutating func cancel() {
    guard state == .going else { return }
    state = .cancelled
    waiting = []
  }

  private mutating func conclude() {
    if state == .going, isComplete, waiting.isEmpty, running.isEmpty { state = .failed }
    if state != .going { waiting = [] }
  }
}
