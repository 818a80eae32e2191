// SPDX-License-Identifier: Apache-2.0

/// The MACs of hellos that a server answered within the last three hours.
package struct Obfs4ReplayFilter: Sendable {
  private let maximumCount: Int
  private var hours: [[UInt8]: Int] = [:]

  package init(maximumCount: Int = 102_400) { self.maximumCount = maximumCount }

  /// Stores the MAC. Returns false if it has been seen within three hours, or if the filter is full.
  package mutating func isNew(_ mac: [UInt8], hour: Int) -> Bool {
    if hours.count >= maximumCount { hours = hours.filter { $0.value > hour &- 3 } }
    if let seen = hours[mac], seen > hour &- 3 { return false }
    // So many hellos within three hours do not come from real clients. Clearing the filter would allow all of them to
    // be replayed.
    guard hours.count < maximumCount || hours[mac] != nil else { return false }
    hours[mac] = hour
    return true
  }
}
