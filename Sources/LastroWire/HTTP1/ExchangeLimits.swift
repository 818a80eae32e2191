// SPDX-License-Identifier: Apache-2.0

/// What may come of one answer before it is refused. One set of limits for everything that speaks HTTP/1.1 here.
package struct ExchangeLimits: Sendable, Equatable {
  /// The maximum size of one head in bytes, of an interim response too, and of the trailer section. Default 256 KiB.
  package var headBytes: Int
  /// Most fields of one head, and of the trailer section. Default 500.
  package var fields: Int
  /// The number of interim (1xx) responses that a server may send at once without progress: ``InterimBudget``.
  /// Default 32.
  package var interimResponses: Int
  /// Most bytes of the body, without its chunks' frames. Default `nil`: no limit, for a caller that counts them.
  package var bodyBytes: Int?

  package init(
    headBytes: Int = 256 * 1024, fields: Int = 500, interimResponses: Int = 32, bodyBytes: Int? = nil
  ) {
    self.headBytes = headBytes
    self.fields = fields
    self.interimResponses = interimResponses
    self.bodyBytes = bodyBytes
  }
}
