// SPDX-License-Identifier: Apache-2.0

extension TransportError {
  /// The refusal of a server by a trust judge.
  package static func refusedTrust(_ failure: TrustFailure) -> TransportError {
    var error = TransportError(stage: .trust, code: .pinMismatch, message: "the server is not trusted")
    error.trustFailure = failure
    return error
  }
}
