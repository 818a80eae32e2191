// SPDX-License-Identifier: Apache-2.0

/// The MACs of the hellos that a server answered in the last three hours.
package struct Obfs4ReplayFilter: Sendable {
  private let maximumCount: Int
  private var hours: [[UInt8]: Int] = [:]

  package init(maximumCount: Int = 102_400) { self.maximumCount = maximumCount }

  /// Remembers the MAC; false where it was seen before.
  package mutating func isNew(_ mac: [UInt8], hour: Int) -> Bool {
    if hours.count >= maximumCount { hours = hours.filter { $0.value > hour &- 3 } }
    if let seen = hours[mac], seen > hour &- 3 { return false }
    // So many within three hours are no clients; to forget all would let every one of them be played again.
    guard hours.count < maximumCount || hours[mac] != nil else { return false }
    hours[mac] = hour
    return true
  }
}
