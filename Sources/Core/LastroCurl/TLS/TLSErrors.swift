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

  // Errors for options that are valid in themselves. OpenSSL may have been built, or configured, to accept fewer.

  static let refusedVersions = invalidTLSOptions(
    "OpenSSL does not accept the range of TLS versions",
    hint: "openssl.cnf may forbid some: allow them there, or set minimumVersion to one that is allowed")
  static let refusedCiphers = invalidTLSOptions(
    "OpenSSL does not accept the list of ciphers for TLS 1.2",
    hint: "`openssl ciphers -v` lists those that openssl.cnf allows")
  static let refusedCipherSuites = invalidTLSOptions(
    "OpenSSL does not accept the list of ciphers for TLS 1.3",
    hint: "`openssl ciphers -v -s -tls1_3` lists those that openssl.cnf allows")
  static let refusedApplicationProtocols = invalidTLSOptions(
    "OpenSSL does not accept the list of application protocols", hint: memoryHint)

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
