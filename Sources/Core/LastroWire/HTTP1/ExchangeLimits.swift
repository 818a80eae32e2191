// SPDX-License-Identifier: Apache-2.0

/// The limits of one response head and of the trailers. The same limits apply to every HTTP/1.1 client here.
package struct ExchangeLimits: Sendable, Equatable {
  /// The maximum size of one head in bytes, of an interim response too, and of the trailer section. Default 256 KiB.
  package var headBytes: Int
  /// The maximum number of fields of one head, and of the trailer section. Default 500.
  package var fields: Int
  /// The number of interim (1xx) responses that a server may send at once without progress: ``InterimBudget``.
  /// Default 32.
  package var interimResponses: Int

  package init(headBytes: Int = 256 * 1024, fields: Int = 500, interimResponses: Int = 32) {
    self.headBytes = headBytes
    self.fields = fields
    self.interimResponses = interimResponses
  }
}
