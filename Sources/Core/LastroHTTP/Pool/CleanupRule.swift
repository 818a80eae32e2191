// SPDX-License-Identifier: Apache-2.0

/// Decides when the unused entries of a table are forgotten: once the table has more than a number of entries to spare,
/// and then not before it has twice the entries that were in use.
struct CleanupRule: Hashable {
  private let spare: Int
  private var most: Int

  /// - Parameter spare: the number of entries that are never too many.
  init(spare: Int) {
    self.spare = spare
    most = spare
  }

  /// Returns whether unused entries must be forgotten before another entry is added.
  func isDue(count: Int) -> Bool { count > most }

  /// Notes the number of entries that were in use.
  mutating func noteKept(_ count: Int) { most = max(spare, 2 * count) }
}
