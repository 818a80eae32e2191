// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The notes about a store that the next request reports, the oldest first.
///
/// There may be a loss and a return, because no request is sent in between or each one fails.
struct StoreNotes: Sendable {
  /// A store that comes and goes while nothing is sent does not make them many.
  private static let maximumCount = 4

  private var notes: [TransferFacts.Note] = []

  mutating func add(_ change: StoreChange) {
    if notes.count == Self.maximumCount { notes.removeFirst() }
    notes.append(change.note)
  }

  /// Removes and returns the notes.
  mutating func take() -> [TransferFacts.Note] {
    guard !notes.isEmpty else { return [] }
    defer { notes = [] }
    return notes
  }
}
