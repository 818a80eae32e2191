// SPDX-License-Identifier: Apache-2.0

/// An event of a store that its owner may want to know about. It has not failed any fetch.
@nonexhaustive
public enum SQLiteCacheEvent: Sendable, Hashable {
  /// The database was corrupt or not an SQLite database. All responses were deleted, and the store was created afresh.
  case rebuilt(reason: String)
  /// A response could not be read or stored, for example because the disk is full.
  case failed(reason: String)
  /// Three writes failed in a row: nothing is written for the given time.
  case paused(Duration)
}
