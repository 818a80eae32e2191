// SPDX-License-Identifier: Apache-2.0

extension FailureRecord.Kind {
  /// With the texts of transports, engines and servers as they may be seen. What an application threw stays as it is.
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
  /// With message and hint as they may be seen.
  func redacted(by redaction: Redaction) -> Self {
    var result = self
    result.message = redaction.text(message, of: self)
    result.hint = hint.map { redaction.text($0, of: self) }
    return result
  }
}

extension TrustFailure {
  /// Whether its texts are Lastro's own, of hosts, ports, dates and keys.
  fileprivate var isInOwnWords: Bool { if case .refused = reason { false } else { true } }
}

extension Redaction {
  /// A text of an error, as it may be seen.
  ///
  /// What is said of hosts and pins is masked by value only: `token-service:8443` reads like a name and its secret, and
  /// the person who mends a policy needs it.
  package func text(_ text: String, of error: TransportError?) -> String {
    error?.trustFailure?.isInOwnWords == true ? secretsMasked(in: text) : self.text(text)
  }

  /// A text of an error, as it may be seen.
  package func text(_ text: String, of error: HTTPFetchError<any Error>) -> String {
    self.text(text, of: error.record.transportError)
  }
}
