// SPDX-License-Identifier: Apache-2.0

/// The progress of a link's outgoing bytes.
package struct LinkDelivery: Equatable {
  /// The number of bytes that the peer's kernel has acknowledged, or a stream's write has completed with, since the
  /// link was made.
  package var acknowledged: UInt64
  /// The number of bytes that were written and have not been acknowledged.
  package var queued: UInt64
  /// The time of the latest acknowledgement of bytes; `nil` if it is not known.
  package var acknowledgedAt: Int64?

  package init(acknowledged: UInt64, queued: UInt64, acknowledgedAt: Int64?) {
    self.acknowledged = acknowledged
    self.queued = queued
    self.acknowledgedAt = acknowledgedAt
  }

  /// The position behind the last byte that was written.
  package var end: UInt64 { acknowledged + queued }

  /// Returns whether bytes were acknowledged since an earlier check. A socket that is not TCP reports only the queued
  /// bytes.
  package func hasMoved(since earlier: LinkDelivery) -> Bool {
    acknowledged > earlier.acknowledged || acknowledged == 0 && queued < earlier.queued
  }
}
