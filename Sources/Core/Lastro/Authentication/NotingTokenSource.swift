// SPDX-License-Identifier: Apache-2.0

/// A source of tokens with notes for the ledger, such as that it has lost what it depends on.
package protocol NotingTokenSource: AccessTokenSource {
  /// Returns the notes since the previous call, for the next request that gets a token.
  func takeNotes() -> [TransferFacts.Note]
}
