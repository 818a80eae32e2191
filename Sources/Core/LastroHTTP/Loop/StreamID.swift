// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A source of stream numbers that are unique within the process.
package enum StreamID {
  private static let latest = Atomic<UInt64>(0)

  package static func next() -> UInt64 { latest.add(1, ordering: .relaxed).newValue }
}
