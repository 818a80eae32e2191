// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension ShadowsocksServer {
  /// The server's name in errors.
  var name: String { "the Shadowsocks server \(proxy.address)" }
}

extension TransportError {
  /// Returns the error of a server that ended the stream before its first byte. As far as is known, it did not forward
  /// the data.
  static func shadowsocksRefused(
    by name: String, isUsed: Bool, _ cause: TransportError? = nil
  ) -> Self {
    var error = TransportError(
      stage: .proxy, code: .proxyRefused,
      message: "\(name) ended the stream without an answer" + (cause.map { ": \($0.message)" } ?? ""),
      hint:
        "check the target's host and port, which the server could not reach; or another program listens in its place",
      requestSent: isUsed)
    error.systemCode = cause?.systemCode
    return error
  }

  /// Returns the error of the stream below, if the server has not responded yet.
  func beforeShadowsocksAnswer(of name: String, isUsed: Bool) -> Self {
    switch stage {
    case .send, .response: return .shadowsocksRefused(by: name, isUsed: isUsed, self)
    case .timeout:
      var error = self
      error.hint =
        "check password and method of \(name): it is silent if they are wrong, and no earlier error shows that; or the "
        + "target is slow, and the limit has to be raised"
      error.requestSent = isUsed
      return error
    default: return self
    }
  }
}

extension ShadowsocksFailure {
  /// The error in creating a server.
  var configuring: ConfigurationError {
    self == .noMD5
      ? ConfigurationError(
        "libcrypto refuses MD5, from which Shadowsocks derives its keys",
        hint: "allow it in OpenSSL's configuration, as FIPS does not; or use another transport")
      : ConfigurationError("libcrypto refuses what Shadowsocks needs", hint: "check OpenSSL's configuration")
  }

  /// The error before anything is dialed.
  var dialing: TransportError {
    .refused(
      .unsupported, "libcrypto refuses what Shadowsocks needs: AES-GCM, ChaCha20-Poly1305 or HKDF with SHA-1",
      hint: "allow them in OpenSSL's configuration, or ask for a server with another method")
  }

  /// Returns the error of an open stream.
  ///
  /// - Parameters:
  ///   - name: the name of the server.
  ///   - isUsed: whether bytes of the application were sent.
  func carrying(of name: String, isUsed: Bool) -> TransportError {
    switch self {
    case .wrongKey:
      refused(
        name, isUsed, 1, "the first chunk of its answer does not open",
        hint: "check password and method; or another program listens there")
    case .wrongFirstPayload:
      refused(
        name, isUsed, 2, "the first chunk of its answer was changed on its path",
        hint: "dial again; if it happens again, dial by another path")
    case .reflected:
      refused(
        name, isUsed, 3, "its answer begins with the salt that we sent",
        hint: "dial by another path: our own bytes were sent back to us")
    case .truncated:
      TransportError(
        stage: .response, code: .truncatedStream,
        message: "the stream from \(name) ended within a chunk: bytes are missing", hint: TransportError.cutHint,
        requestSent: true)
    case .counterExhausted:
      TransportError(
        stage: .limit, code: .protocolViolation, message: "the stream to \(name) has used up its 2^63 - 1 chunks",
        hint: "dial again", requestSent: true)
    case .wrongChunk, .wrongLength:
      TransportError(
        stage: .response, code: .protocolViolation,
        message: "\(name) sent a chunk that is not valid, or it was changed on its path",
        hint: "dial again; if it happens again, dial by another path or ask the server's operator", requestSent: true)
    case .cryptoUnavailable, .noMD5:
      TransportError(
        stage: .response, code: .protocolViolation, message: "libcrypto refused to open or to seal a chunk of \(name)",
        hint: "dial again; check that memory is left", requestSent: true)
    }
  }

  private func refused(
    _ name: String, _ isUsed: Bool, _ code: Int32, _ message: String, hint: String
  ) -> TransportError {
    TransportError(
      stage: .proxy, code: .handshakeFailed, message: "\(name) was refused: \(message)", hint: hint, engineCode: code,
      requestSent: isUsed)
  }
}
