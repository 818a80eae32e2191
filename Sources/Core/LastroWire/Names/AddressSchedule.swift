// SPDX-License-Identifier: Apache-2.0

/// The schedule for dialing the addresses of a name (Happy Eyeballs v2, RFC 8305). Address families alternate. The next
/// attempt starts 250 ms after the previous one, or at once when an attempt fails. The first successful attempt ends
/// the schedule.
///
/// Addresses are text; an address with a colon is IPv6. Times are nanoseconds of any monotonic clock.
package struct AddressSchedule: Sendable {
  /// The state of the schedule.
  package enum State: Sendable, Hashable {
    /// Attempts are running or pending, or more addresses may arrive.
    case going
    /// An attempt succeeded.
    case won(String)
    /// All attempts failed, or one failed in a way that rules out other addresses.
    case failed
    /// The schedule was cancelled.
    case cancelled
  }

  /// The delay between the starts of two attempts.
  package static let stagger: Int64 = 250_000_000
  /// The maximum number of addresses. Further ones are ignored.
  package static let most = 64

  package private(set) var state = State.going
  /// The running attempts with their start times.
  package private(set) var running: [String: Int64] = [:]
  /// The addresses that have not been tried, in order.
  package private(set) var waiting: [String] = []
  private var known: Set<String> = []
  private var isComplete = false
  private var nextAt = Int64.min
  /// Whether the latest attempt used IPv6.
  private var lastIsIPv6: Bool?

  package init() {}

  /// Adds addresses, best first. Late addresses join the pending ones.
  ///
  /// - Parameters:
  ///   - isComplete: whether no more addresses will arrive.
  ///   - isDead: returns whether an address is to be tried last.
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

  /// Alternates the address families, starting with the family of the first address, or with the family that the latest
  /// attempt did not use.
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

  /// The time at which ``next(now:)`` returns an address; `Int64.max` while none is pending.
  package var due: Int64 { state == .going && !waiting.isEmpty ? nextAt : .max }

  /// Returns the address to try now; `nil` if it is too early or none is pending.
  package mutating func next(now: Int64) -> String? {
    guard now >= due, state == .going, !waiting.isEmpty else { return nil }
    let address = waiting.removeFirst()
    running[address] = now
    lastIsIPv6 = Self.isIPv6(address)
    nextAt = now &+ Self.stagger
    return address
  }

  /// Records that an attempt failed. The next one may start at once.
  ///
  /// - Parameter isFinal: whether no other address may be tried. If a server was not trusted, another address must not
  ///   be used to bypass that.
  package mutating func attemptFailed(_ address: String, isFinal: Bool = false) {
    guard state == .going, running.removeValue(forKey: address) != nil else { return }
    nextAt = .min
    if isFinal { state = .failed }
    conclude()
  }

  /// Records that an attempt succeeded. Attempts that are still ``running`` have to be closed. An attempt counts as
  /// slow if it started a ``stagger`` or more before the successful one.
  ///
  /// - Returns: the addresses of slow attempts.
  package mutating func attemptSucceeded(_ address: String) -> [String] {
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
