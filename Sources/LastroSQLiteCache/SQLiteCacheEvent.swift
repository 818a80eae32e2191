// SPDX-License-Identifier: Apache-2.0

/// What happened to a store that its owner may want to know: no fetch failed because of it.
@nonexhaustive
public enum SQLiteCacheEvent: Sendable, Hashable {
  /// The database was not one, or no longer; all that was kept is gone, and the store began anew.
  case rebuilt(reason: String)
  /// Something was not read or kept, such as for a full disk.
  case failed(reason: String)
  /// Three failed in a row: nothing is written for the time given.
  case paused(Duration)
}
