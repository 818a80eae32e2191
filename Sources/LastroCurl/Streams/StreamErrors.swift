// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

#if canImport(Glibc)
  internal import Glibc
#endif

extension TransportError {
  static let streamClosed = TransportError(
    stage: .request, code: .streamClosed, message: "the stream was closed on our side",
    hint: "dial anew; whoever drops the last reference to a stream closes it")

  static let writingFinished = TransportError(
    stage: .request, code: .streamClosed, message: "our direction of the stream was ended",
    hint: "write before finishWriting")

  static let truncatedStream = TransportError(
    stage: .response, code: .truncatedStream,
    message: "the stream ended without TLS close_notify: bytes may be missing",
    hint: "whoever can cut the wire can do this; accept it only where the protocol tells lengths", requestSent: true)

  static func busy(_ who: String) -> TransportError {
    TransportError(
      stage: .request, code: .operationInProgress, message: "another task \(who) this stream at the moment",
      hint: "one reader and one writer at a time")
  }

  static func streamTimeout(_ what: String) -> TransportError {
    TransportError(
      stage: .timeout, code: .idleTimeout, message: "the limit passed before \(what)", requestSent: true)
  }

  static let dialTimeout = TransportError(
    stage: .timeout, code: .connectTimeout, message: "no stream within the connect limit",
    hint: "raise connectTimeout, or dial fewer at once to one host")

  static func system(
    _ stage: FailureStage, _ code: FailureCode, _ what: String, _ systemCode: Int32, engineCode: Int32? = nil
  ) -> TransportError {
    let reason = systemCode == 0 ? "" : ": \(SystemError.text(systemCode))"
    var error = TransportError(
      stage: stage, code: code, message: what + reason, engineCode: engineCode,
      requestSent: stage == .send || stage == .response)
    error.systemCode = systemCode == 0 ? nil : systemCode
    return error
  }

  /// What libcurl's result means for a stream that was being dialed.
  init(_ code: CURLcode, dialing session: StreamSession) {
    if let error = session.failure {
      self = error
      return
    }
    if let error = session.peer?.refusal(code, requestSent: false) {
      self = error
      return
    }
    if let error = session.peer?.alertFailure(code, requestSent: false) {
      self = error
      return
    }
    let facts = session.easy.facts(hasFailed: true)
    let (stage, word, message, hint) = CurlCode.explain(
      CurlCode.common(code, session.standing, facts: facts), facts: facts, isProxied: session.isProxied,
      requestSent: false, hasHead: false, isChunked: false)
    self.init(
      stage: stage, code: word, message: message, hint: hint, engineCode: Int32(bitPattern: code.rawValue))
    if facts.os_errno != 0, Self.tells(code, Int32(clamping: facts.os_errno)) {
      systemCode = Int32(clamping: facts.os_errno)
    }
  }

  /// Whether the handle's latest system error is of this failure. No success clears it: it may be that of an address that
  /// was tried before.
  private static func tells(_ code: CURLcode, _ systemCode: Int32) -> Bool {
    switch code {
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED: true
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SSL_CONNECT_ERROR:
      [ECONNRESET, EPIPE, ETIMEDOUT].contains(systemCode)
    default: false
    }
  }
}
