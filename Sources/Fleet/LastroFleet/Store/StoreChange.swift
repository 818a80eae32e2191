// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import Logging

/// The loss of a store or its return, which the log and the ledger of one request report.
struct StoreChange: Sendable {
  /// The text without the cause.
  private let text: String
  /// The cause of a loss; `nil` if the store is back.
  private let cause: FleetStoreError?

  /// Returns the loss of a store.
  ///
  /// - Parameters:
  ///   - state: the state in the store, such as `the shared quota github`.
  ///   - consequence: the rest of the sentence, such as `is lost, and nothing is shared`.
  static func lost(_ state: String, _ consequence: String, because cause: FleetStoreError) -> StoreChange {
    StoreChange(text: "the store of \(state) \(consequence)", cause: cause)
  }

  /// Returns the return of a store.
  static func back(_ state: String) -> StoreChange { StoreChange(text: "the store of \(state) is back", cause: nil) }

  /// The note of the next request.
  var note: TransferFacts.Note {
    TransferFacts.Note("fleet", detail: cause == nil ? "store_back" : "store_lost", text: text)
  }

  /// Writes the change to a log, with the cause of a loss.
  func log(to logger: Logger) {
    if let cause { logger.warning("\(text): \(cause)") } else { logger.notice("\(text)") }
  }
}
