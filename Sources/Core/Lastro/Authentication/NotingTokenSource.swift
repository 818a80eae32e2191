// SPDX-License-Identifier: Apache-2.0

/// A source of tokens with notes for the ledger, such as that it has lost what it depends on.
package protocol NotingTokenSource: AccessTokenSource {
  /// Returns a note once, for the next request that gets a token.
  func takeNote() -> TransferFacts.Note?
}
