// SPDX-License-Identifier: Apache-2.0

/// Calculates the window of each stream: the estimated bandwidth, or less if all streams together could keep too many
/// unread bytes.
package enum WindowPlan {
  /// The smallest window of a stream, however many streams there are: the initial size of RFC 9113 §6.5.2.
  package static let minimum = 65_535

  /// Returns the window for each stream.
  ///
  /// - Parameters:
  ///   - estimate: the window that one stream could use.
  ///   - streams: the number of streams. It is rounded up to the next power of two, so that not every new stream
  ///     changes the window.
  ///   - unread: the bytes that readers have not taken, over all streams.
  ///   - limit: the limit for all streams together.
  package static func window(estimate: Int, streams: Int, unread: Int, limit: Int) -> Int {
    // A small number of unread bytes is covered by the windows. A large number may have arrived when windows were
    // larger.
    let budget = unread > limit / 4 ? max(0, limit - unread) : limit
    var count = 1
    while count < streams { count *= 2 }
    return max(minimum, min(estimate, budget / count))
  }
}
