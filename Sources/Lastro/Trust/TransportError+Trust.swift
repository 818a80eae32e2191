// SPDX-License-Identifier: Apache-2.0

extension TransportError {
  /// A server that a trust judge refused: stage `trust`, nothing sent, never retried.
  ///
  /// - Parameters:
  ///   - failure: why; kept as ``trustFailure``.
  ///   - engineCode: the engine's own code. Default `nil`.
  ///   - facts: what is known about the transfer. Default `nil`.
  public static func refusedTrust(
    _ failure: TrustFailure, engineCode: Int32? = nil, facts: TransferFacts? = nil
  ) -> Self {
    var error = Self(
      stage: .trust, code: failure.code, message: failure.message, hint: failure.hint, engineCode: engineCode,
      facts: facts)
    error.trustFailure = failure
    return error
  }
}
