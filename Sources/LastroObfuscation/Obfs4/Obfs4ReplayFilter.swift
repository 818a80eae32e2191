// SPDX-License-Identifier: Apache-2.0

/// The MACs of the hellos that a server answered in the last three hours.
package struct Obfs4ReplayFilter: Sendable {
  private var hours: [[UInt8]: Int] = [:]

  package init() {}

  /// Remembers the MAC; false where it was seen before.
  package mutating func isNew(_ mac: [UInt8], hour: Int) -> Bool {
    if hours.count >= Self.maximumCount { hours = hours.filter { $0.value > hour - 3 } }
    if let seen = hours[mac], seen > hour - 3 { return false }
    // As many within three hours are no clients; to forget all would let every one of them be played again.
    guard hours.count < Self.maximumCount else { return false }
    hours[mac] = hour
    return true
  }

  static let maximumCount = 102_400
}
