// SPDX-License-Identifier: Apache-2.0

extension Duration {
  /// The duration in whole milliseconds, rounded down, up to thirty thousand years. The date of a store is beyond the
  /// limit of `countable`.
  var wholeMilliseconds: Int64 { whole(1_000) }

  /// The duration in whole microseconds, as ``wholeMilliseconds``.
  var wholeMicroseconds: Int64 { whole(1_000_000) }

  private func whole(_ perSecond: Int64) -> Int64 {
    let (seconds, attoseconds) = min(max(self, .zero), .seconds(1_000_000_000_000)).components
    return seconds * perSecond + attoseconds / (1_000_000_000_000_000_000 / perSecond)
  }
}
