// SPDX-License-Identifier: Apache-2.0

extension FailureRecord.Kind {
  /// Returns the failure with the texts of transports, engines and servers masked. An error that the application threw
  /// is left unchanged.
  func redacted(by redaction: Redaction) -> Self {
    switch self {
    case .transport(let error): .transport(error.redacted(by: redaction))
    case .badResponse(let error): .badResponse(error.redacted(by: redaction))
    case .redirect(let error): .redirect(error.redacted(by: redaction))
    case .cancelled(let error): .cancelled(error.redacted(by: redaction))
    case .noRequest(let error as TransportError): .noRequest(error.redacted(by: redaction))
    case .noRequest, .http, .noData, .decode: self
    }
  }
}

extension TransportError {
  /// Returns the error with its message and hint masked.
  func redacted(by redaction: Redaction) -> Self {
    var result = self
    result.message = redaction.text(message, of: self)
    result.hint = hint.map { redaction.text($0, of: self) }
    return result
  }
}

extension TrustFailure {
  /// Whether the failure's texts come from Lastro itself. They then consist of hosts, ports, dates and keys.
  fileprivate var isInOwnWords: Bool { if case .refused = reason { false } else { true } }
}

extension Redaction {
  /// Returns a text of an error with its secrets masked.
  ///
  /// In texts about hosts and pins, secrets are masked by value only. `token-service:8443` looks like a name and its
  /// secret, but a reader needs it to correct a policy.
  package func text(_ text: String, of error: TransportError?) -> String {
    error?.trustFailure?.isInOwnWords == true ? secretsMasked(in: text) : self.text(text)
  }

  /// Returns a text of an error with its secrets masked.
  package func text(_ text: String, of error: HTTPFetchError<any Error>) -> String {
    self.text(text, of: error.record.transportError)
  }
}
