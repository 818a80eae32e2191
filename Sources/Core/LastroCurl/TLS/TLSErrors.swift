// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Failures of TLS over a stream.
extension TransportError {
  static let endlessAnswers = TransportError(
    stage: .response, code: .protocolViolation,
    message: "the server keeps asking for TLS answers (key updates) and does not read them",
    hint: "report it to the server's owner",
    requestSent: true)

  static let noTLSSession = TransportError(
    stage: .tls, code: .engineFailure, message: "OpenSSL cannot begin a connection",
    hint: "raise the memory of the process")

  static let refusedVersion = invalidTLSOptions(
    "OpenSSL does not accept the range of TLS versions",
    hint: "give .v1_2 or .v1_3; openssl.cnf may allow fewer")
  static let refusedCiphers = invalidTLSOptions(
    "OpenSSL does not accept the list of ciphers", hint: "`openssl ciphers` lists those it has")
  static let refusedProtocols = refused(
    .invalidOption, "OpenSSL does not accept the application protocols", hint: "give names of 1 to 255 bytes")

  /// Returns the error for a failed handshake.
  ///
  /// - Parameters:
  ///   - server: the host and port.
  ///   - reason: OpenSSL's reason; `nil` if the connection ended.
  static func brokenHandshake(_ stage: FailureStage, _ server: String, _ reason: String?) -> TransportError {
    TransportError(
      stage: stage, code: .handshakeFailed,
      message: reason.map { "the TLS handshake with \(server) failed: \($0)" }
        ?? "\(server) ended the connection in the TLS handshake",
      hint: "the server may not use TLS on this port, or may support none of our versions and ciphers")
  }

  static func brokenTLS(_ server: String, _ reason: String) -> TransportError {
    TransportError(
      stage: .response, code: .protocolViolation, message: "\(server) violated TLS: \(reason)",
      hint: "dial again; if it happens again, report it to the server's owner", requestSent: true)
  }
}
