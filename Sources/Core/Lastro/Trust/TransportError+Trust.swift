// SPDX-License-Identifier: Apache-2.0

extension TransportError {
  /// Returns the error for a server that a trust judge refused: the stage is `trust`, nothing was sent, and the request
  /// is never retried.
  ///
  /// - Parameters:
  ///   - failure: the reason, kept as ``trustFailure``.
  ///   - engineCode: the engine's own code. Default `nil`.
  ///   - facts: the facts about the transfer. Default `nil`.
  package static func refusedTrust(
    _ failure: TrustFailure, engineCode: Int32? = nil, facts: TransferFacts? = nil
  ) -> Self {
    var error = Self(
      stage: .trust, code: failure.code, message: failure.message, hint: failure.hint, engineCode: engineCode,
      facts: facts)
    error.trustFailure = failure
    return error
  }
}
