// SPDX-License-Identifier: Apache-2.0

/// How much a server can have under way: bytes that come between a PING and its answer, as hyper measures them.
///
/// A PING goes out with the first bytes of a body, and what comes until its answer is counted. Where two thirds of the
/// window were used, and the bandwidth is a quarter higher than when the window grew last, it becomes twice what came:
/// a window that brought no more bandwidth has only made a queue longer, in which the PING's answer waits, too. The
/// next measurement begins after a delay, which halves when the window grew, and becomes four times as long after two
/// measurements without growth.
package struct BandwidthEstimate: Sendable {
  private static let firstDelay = 100 * HTTP2Time.millisecond
  private static let maximumDelay = 10 * HTTP2Time.second

  private let maximumWindow: Int
  /// What the server may have under way on one stream.
  package private(set) var window: Int
  /// Mean time of a round trip, in nanoseconds; `nil` before the first.
  package private(set) var roundTrip: Double?
  /// Bytes a nanosecond, when the window grew last.
  private var usedBandwidth = 0.0
  package private(set) var delay = BandwidthEstimate.firstDelay
  private var stableCount = 0
  private var bytes = 0
  private var sentAt: UInt64?
  private var nextAt: UInt64 = 0

  package init(window: Int, maximumWindow: Int) {
    (self.window, self.maximumWindow) = (window, max(window, maximumWindow))
  }

  /// Whether an answer to a PING is waited for.
  package var isMeasuring: Bool { sentAt != nil }

  /// Bytes of a body came. Whether a PING is to go out.
  package mutating func received(_ count: Int, now: UInt64) -> Bool {
    guard now >= nextAt else { return false }
    bytes += count
    guard sentAt == nil else { return false }
    sentAt = now
    return true
  }

  /// The answer came.
  ///
  /// - Parameter isRead: whether the readers keep up. A window that slow readers leave full is not what holds the
  ///   server up.
  /// - Returns: whether the window grew.
  package mutating func acknowledged(now: UInt64, isRead: Bool) -> Bool {
    guard let sentAt else { return false }
    let sample = Double(max(1, now &- sentAt))
    roundTrip = roundTrip.map { $0 + (sample - $0) / 8 } ?? sample
    let grew = isRead && grow(bytes, within: sample)
    if grew {
      stableCount = 0
      delay /= 2
    } else {
      stabilize()
    }
    (self.sentAt, bytes, nextAt) = (nil, 0, now + delay)
    return grew
  }

  private mutating func grow(_ bytes: Int, within time: Double) -> Bool {
    let bandwidth = Double(bytes) / time
    guard window < maximumWindow, bytes >= window * 2 / 3, bandwidth >= usedBandwidth * 1.25 else { return false }
    usedBandwidth = bandwidth
    window = min(bytes * 2, maximumWindow)
    return true
  }

  private mutating func stabilize() {
    guard delay < Self.maximumDelay else { return }
    stableCount += 1
    guard stableCount >= 2 else { return }
    stableCount = 0
    delay = min(delay * 4, Self.maximumDelay)
  }
}
