// SPDX-License-Identifier: Apache-2.0

/// The reachability of a store: whether to ask it, and when to report a loss. It decides, and does nothing itself.
struct StoreHealth: Sendable, Hashable {
  enum Event: Sendable, Hashable {
    /// The store is lost, or refuses changes.
    case lost
    /// The store is back, or accepts changes again.
    case back
  }

  /// The time for which one operation probes a lost store, while the others are not sent.
  static let probe = Duration.seconds(2)
  private static let firstPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(30)

  /// Whether the store does not respond.
  private(set) var isLost = false
  /// Whether the store refuses changes, for example because its memory is full.
  private(set) var isRefusing = false
  private var pause = firstPause
  private var until = Duration.zero
  private var isProbing = false

  /// Whether operations fail or have failed.
  var isWell: Bool { !isLost && !isRefusing }

  /// Returns whether an operation may be sent. While the store is lost, one at a time may.
  mutating func mayAsk(isChange: Bool, now: Duration) -> Bool {
    guard isLost || isRefusing && isChange else { return true }
    guard now >= until else { return false }
    until = now + Self.probe
    isProbing = true
    return true
  }

  /// Records that an operation succeeded.
  mutating func succeeded(isChange: Bool) -> Event? {
    guard !isWell else { return nil }
    isLost = false
    if isChange { isRefusing = false }
    guard isWell else { return nil }
    isProbing = false
    pause = Self.firstPause
    return .back
  }

  /// Records that an operation failed.
  ///
  /// - Parameters:
  ///   - isRefusal: whether the store responded, and refused a change.
  ///   - jitter: a random number from 0 to 1, so that instances do not probe together.
  mutating func failed(isRefusal: Bool, now: Duration, jitter: Double) -> Event? {
    let wasWell = isWell
    isLost = !isRefusal
    if isRefusal { isRefusing = true }
    // Operations that were under way together fail together, and count once.
    if wasWell || isProbing || now >= until {
      until = now + pause * (0.5 + jitter / 2)
      pause = min(pause * 2, Self.longestPause)
      isProbing = false
    }
    return wasWell ? .lost : nil
  }
}
