// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The counts behind the reuse ratio of connections: `1 − (opened − origins) / (requests − origins)`.
///
/// The first connection to an origin cannot be avoided, so it does not count.
struct ReuseCount {
  /// The maximum number of counted origins. Connections to further ones are ignored, because a crawler may contact
  /// millions.
  static let mostOrigins = 16_384

  private var origins: Set<Origin> = []
  private var opened = 0
  private var requests = 0

  mutating func countConnection(to origin: Origin) {
    if origins.count < Self.mostOrigins { origins.insert(origin) } else if !origins.contains(origin) { return }
    opened += 1
  }

  mutating func countSentRequest() { requests += 1 }

  /// The ratio, from 0 to 1; `nil` before a request could have reused a connection, and if no connection was reported.
  var ratio: Double? {
    guard opened > 0, requests > origins.count else { return nil }
    return max(0, 1 - Double(opened - origins.count) / Double(requests - origins.count))
  }
}
