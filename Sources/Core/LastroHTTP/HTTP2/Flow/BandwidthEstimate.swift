// SPDX-License-Identifier: Apache-2.0

/// An estimate of the bytes that a server can have in flight: the bytes received between a PING and its answer,
/// measured as hyper does.
///
/// A PING is sent with the first bytes of a body, and the bytes received until its answer are counted. The window grows
/// to twice that number if at least two thirds of the window were used and the bandwidth is at least a quarter higher
/// than when the window last grew. Without more bandwidth, a larger window would only lengthen a queue, in which the
/// answer to the PING waits too. The next measurement starts after a delay. The delay halves when the window grew, and
/// quadruples after two measurements without growth.
package struct BandwidthEstimate: Sendable {
  private static let firstDelay = 100 * HTTP2Time.millisecond
  private static let maximumDelay = 10 * HTTP2Time.second

  private let maximumWindow: Int
  /// The number of bytes that the server may have in flight on one stream.
  package private(set) var window: Int
  /// The bandwidth when the window last grew, in bytes per nanosecond.
  private var usedBandwidth = 0.0
  package private(set) var delay = BandwidthEstimate.firstDelay
  /// The number of measurements since the window last grew.
  private var stableCount = 0
  private var bytes = 0
  private var sentAt: UInt64?
  private var nextAt: UInt64 = 0

  package init(window: Int, maximumWindow: Int) {
    (self.window, self.maximumWindow) = (window, max(window, maximumWindow))
  }

  /// Whether a PING is waiting for its answer.
  package var isMeasuring: Bool { sentAt != nil }

  /// Counts received bytes of a body, and returns whether a PING is to be sent.
  package mutating func received(_ count: Int, now: UInt64) -> Bool {
    guard now >= nextAt else { return false }
    bytes += count
    guard sentAt == nil else { return false }
    sentAt = now
    return true
  }

  /// Ends a measurement when the answer to its PING is received.
  ///
  /// - Parameter isRead: whether the readers keep up. If slow readers leave the window full, a larger window does not
  ///   help.
  /// - Returns: whether the window grew.
  package mutating func acknowledged(now: UInt64, isRead: Bool) -> Bool {
    guard let sentAt else { return false }
    let sample = Double(max(1, now &- sentAt))
    let grew = isRead && grow(bytes, within: sample)
    if grew {
      stableCount = 0
      delay /= 2
    } else {
      stableCount += 1
      if stableCount.isMultiple(of: 2) { delay = min(delay * 4, Self.maximumDelay) }
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
}
