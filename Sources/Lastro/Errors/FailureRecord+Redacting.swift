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
    case .noRequest, .http, .noData, .retry, .decode: self
    }
  }
}

extension TransportError {
  /// With message and hint as they may be seen.
  func redacted(by redaction: Redaction) -> Self {
    var result = self
    result.message = redaction.text(message)
    result.hint = hint.map { redaction.text($0) }
    return result
  }
}
