// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The errors of HTTP/2 streams and connections that end.
extension TransportError {
  package static func resetStream(_ code: LastroHTTP.HTTP2ErrorCode) -> TransportError {
    if code == .inadequateSecurity {
      return TransportError(
        stage: .tls, code: .handshakeFailed, message: "the server refuses HTTP/2 over the negotiated TLS (\(code))",
        hint: "ask its operator for the ciphers it wants, or set httpVersion to .http1")
    }
    return TransportError(
      stage: .response, code: .http2Failure, message: "the server reset the HTTP/2 stream: \(code)", hint: code.hint,
      engineCode: Int32(bitPattern: code.rawValue))
  }

  package static func cutByReset(_ code: LastroHTTP.HTTP2ErrorCode) -> TransportError {
    TransportError(
      stage: .response, code: .truncatedBody,
      message: "the server reset the HTTP/2 stream before the body ended: \(code)", hint: code.hint,
      engineCode: Int32(bitPattern: code.rawValue))
  }

  package static func closedWith(_ code: LastroHTTP.HTTP2ErrorCode) -> TransportError {
    TransportError(
      stage: .response, code: .http2Failure, message: "the server ended the HTTP/2 connection: \(code)",
      hint: code.hint, engineCode: Int32(bitPattern: code.rawValue))
  }

  /// The error for fields that are larger than a session may send.
  package static func fieldsTooLarge(_ fields: String) -> TransportError {
    .refused(
      .invalidHeader, "the request's \(fields) may have no more than \(HTTP2Fields.maximumBytes) bytes over HTTP/2",
      hint: largeFieldsHint)
  }

  /// The error of an extended CONNECT for a connection whose server has not announced that it accepts one.
  static var unannouncedTunnel: TransportError {
    .refused(
      .unsupported, "the server does not announce extended CONNECT (RFC 8441 §3)", hint: "use HTTP/1.1 for this server")
  }

  private static let largeFieldsHint = "put large values into the body"

  package static let unansweredPing = TransportError(
    stage: .response, code: .connectionLost,
    message: "the server answered neither the request nor a PING for 10 s", hint: cutHint)

  package init(_ reason: HTTP2Unprocessed) {
    let message =
      switch reason {
      case .unsent: "the HTTP/2 connection ended before the request was sent"
      case .refused: "the server refused the HTTP/2 stream: REFUSED_STREAM"
      case .aboveGoAway: "the server ended the HTTP/2 connection without processing the request (GOAWAY)"
      case .http11Required: "the server wants HTTP/1.1 for this request: HTTP_1_1_REQUIRED"
      }
    self.init(
      stage: .response, code: .http2Failure, message: message,
      hint: reason == .http11Required
        ? "set httpVersion to .http1" : "it was not processed: send it again later, or send fewer requests at once",
      engineCode: reason == .refused ? Int32(LastroHTTP.HTTP2ErrorCode.refusedStream.rawValue) : nil)
  }

  package init(_ violation: HTTP2Violation) {
    let (stage, code, hint): (FailureStage, FailureCode, String) =
      switch violation.kind {
      case .headTooLarge: (.limit, .headTooLarge, "raise maximumHeadBytes if the server is trusted")
      case .fieldTooLarge:
        (.limit, .headTooLarge, "set httpVersion to .http1, where maximumHeadBytes is the only limit")
      case .tooManyFields: (.limit, .headTooLarge, "raise maximumHeaderFields if the server is trusted")
      case .tooManyInterimResponses:
        (.limit, .tooManyInterimResponses, "raise maximumInterimResponses if the server is trusted")
      case .requestBody: (.request, .invalidBody, "announce the true length, or none")
      case .requestFields: (.request, .invalidHeader, Self.largeFieldsHint)
      case .memory: (.response, .engineFailure, "raise the memory of the process")
      default:
        (
          .response, .http2Failure,
          "the server does not follow HTTP/2: report it to its owner, or set httpVersion to .http1"
        )
      }
    self.init(stage: stage, code: code, message: violation.message, hint: hint)
  }
}

extension LastroHTTP.HTTP2ErrorCode {
  fileprivate var hint: String {
    self == .enhanceYourCalm
      ? "send less at once: the server calls it too much"
      : "fetch again if that is safe; the server's owner can tell why"
  }
}
