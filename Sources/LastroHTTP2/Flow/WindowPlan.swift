// SPDX-License-Identifier: Apache-2.0

/// The window that each stream gets: what the bandwidth asks for, or less where all of them together could keep too
/// much unread.
package enum WindowPlan {
  /// What a stream gets however many there are: the size that RFC 9113 §6.5.2 begins with.
  package static let minimum = 65_535

  /// - Parameters:
  ///   - estimate: what one stream could use.
  ///   - streams: how many there are. The sum holds for the next power of two, so that not every new one changes the
  ///     window.
  ///   - unread: what readers have not taken, of all streams.
  ///   - limit: for all streams together.
  package static func window(estimate: Int, streams: Int, unread: Int, limit: Int) -> Int {
    // What little is unread lies within the windows that are counted; much may have come when they were larger.
    let budget = unread > limit / 4 ? max(0, limit - unread) : limit
    var count = 1
    while count < streams { count *= 2 }
    return max(minimum, min(estimate, budget / count))
  }
}
