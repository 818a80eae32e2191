// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

extension TransportError {
  /// The server's name in errors, without its address, which must not appear in logs.
  static let wispServer = "the obfs4 server"

  /// Returns the error of a silent server: it either rejected the hello or does not speak obfs4.
  static func wispSilence(within limit: Duration?) -> Self {
    var error = dialTimedOut(within: limit)
    error.message = "\(wispServer) did not answer: \(error.message)"
    error.hint =
      "check the certificate, that the clock of this machine is at most an hour off, and that an obfs4 server listens "
      + "there: a server is silent in each of these cases"
    return error
  }

  /// Returns the error of a server that closed the connection during the handshake.
  static func wispClosed(_ cause: TransportError? = nil) -> Self {
    var error = TransportError(
      stage: .proxy, code: .proxyRefused,
      message: "\(wispServer) ended the connection instead of answering" + (cause.map { ": \($0.message)" } ?? ""),
      hint: "check host, port and certificate: an obfs4 server keeps silent for half a minute before it does so")
    error.systemCode = cause?.systemCode
    return error
  }

  /// The error as one of the handshake.
  var talkingToWispServer: Self {
    switch stage {
    case .send, .response: return .wispClosed(self)
    default:
      var error = self
      error.requestSent = false
      return error
    }
  }

  /// Returns the error without the server's host, where it occurs in the texts of the layers below.
  func hidingAddress(of server: WispServer) -> Self {
    var error = self
    error.message = message.replacing(server.host, with: Redaction.mask)
    error.hint = hint?.replacing(server.host, with: Redaction.mask)
    return error
  }
}

extension Obfs4Failure {
  /// The error of the handshake, before any data of the application was sent.
  var dialing: TransportError {
    switch self {
    case .noMark, .truncated, .replayed, .wrongFrame, .counterExhausted:
      handshakeFailed(
        1, "its response has no mark in \(Obfs4Handshake.maximumLength) bytes",
        hint: "check host, port and certificate: another server answers, or the bytes were changed on their path")
    case .wrongMAC:
      handshakeFailed(
        2, "the MAC of its response is wrong",
        hint: "dial again: the bytes were changed on their path, or another server answers")
    case .wrongAuthentication:
      handshakeFailed(
        3, "it did not prove to have the certificate's secret key",
        hint: "ask its operator: it has the certificate without the key, or runs an obfs4proxy older than 2022")
    case .zeroSharedSecret:
      handshakeFailed(
        4, "its key gives no shared secret", hint: "do not use it: only a malicious server sends such a key")
    case .cryptoUnavailable:
      .refused(
        .unsupported, "libcrypto refuses what obfs4 needs: X25519, HMAC-SHA256 or Poly1305",
        hint: "allow them in OpenSSL's configuration; its FIPS provider alone does not have all of them")
    }
  }

  private func handshakeFailed(_ code: Int32, _ message: String, hint: String) -> TransportError {
    TransportError(
      stage: .proxy, code: .handshakeFailed, message: "\(TransportError.wispServer) was refused: \(message)",
      hint: hint, engineCode: code)
  }

  /// The error of an open stream, where it is not known which bytes arrived.
  var carrying: TransportError {
    switch self {
    case .truncated:
      TransportError(
        stage: .response, code: .truncatedStream,
        message: "the stream from \(TransportError.wispServer) ended within a frame: bytes are missing",
        hint: TransportError.cutHint, requestSent: true)
    case .counterExhausted:
      TransportError(
        stage: .limit, code: .protocolViolation,
        message: "the stream to \(TransportError.wispServer) has used up its 2^64 - 1 frames", hint: "dial again",
        requestSent: true)
    case .cryptoUnavailable:
      TransportError(
        stage: .response, code: .protocolViolation,
        message: "libcrypto refused to open or to seal a frame of \(TransportError.wispServer)",
        hint: "dial again; check that memory is left", requestSent: true)
    case .wrongFrame, .noMark, .wrongMAC, .wrongAuthentication, .zeroSharedSecret, .replayed:
      TransportError(
        stage: .response, code: .protocolViolation,
        message: "\(TransportError.wispServer) sent a frame that is not valid, or it was changed on its path",
        hint: "dial again; if it happens again, dial by another path or ask the server's operator", requestSent: true)
    }
  }
}
