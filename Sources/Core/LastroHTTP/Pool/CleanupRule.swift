// SPDX-License-Identifier: Apache-2.0

/// Decides when a table drops its unused entries: once it holds more than `spare` entries, and also more than twice the
/// entries that were in use at the last cleanup.
struct CleanupRule: Hashable {
  private let spare: Int
  private var most: Int

  /// - Parameter spare: the number of entries that a table may hold without a cleanup.
  init(spare: Int) {
    self.spare = spare
    most = spare
  }

  /// Returns whether unused entries must be dropped before another entry is added.
  func isDue(count: Int) -> Bool { count > most }

  /// Records the number of entries that a cleanup kept because they were in use.
  mutating func cleanedUp(keeping count: Int) { most = max(spare, 2 * count) }
}
