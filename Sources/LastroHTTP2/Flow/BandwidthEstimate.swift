// SPDX-License-Identifier: Apache-2.0

/// How much a server can have under way: bytes that come between a PING and its answer, as hyper measures them.
///
/// A PING goes out with the first bytes of a body, and what comes until its answer is counted. Where the bandwidth is
/// the highest yet, and two thirds of the window were used, the window becomes twice what came. The next measurement
/// begins after a delay, which halves when the window grew, and becomes four times as long after two measurements
/// without growth.
package struct BandwidthEstimate: Sendable {
  private static let firstDelay = 100 * HTTP2Time.millisecond
  private static let maximumDelay = 10 * HTTP2Time.second

  private let maximumWindow: Int
  /// What the server may have under way on one stream.
  package private(set) var window: Int
  /// Mean time of a round trip, in nanoseconds; `nil` before the first.
  package private(set) var roundTrip: Double?
  /// Bytes a nanosecond.
  private var maximumBandwidth = 0.0
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
    let grew = grow(bytes, roundTrip: roundTrip ?? sample, isRead: isRead)
    if grew {
      stableCount = 0
      delay /= 2
    } else {
      stabilize()
    }
    (self.sentAt, bytes, nextAt) = (nil, 0, now + delay)
    return grew
  }

  private mutating func grow(_ bytes: Int, roundTrip: Double, isRead: Bool) -> Bool {
    guard window < maximumWindow else { return false }
    let bandwidth = Double(bytes) / (roundTrip * 1.5)
    guard bandwidth >= maximumBandwidth else { return false }
    maximumBandwidth = bandwidth
    guard isRead, bytes >= window * 2 / 3 else { return false }
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
