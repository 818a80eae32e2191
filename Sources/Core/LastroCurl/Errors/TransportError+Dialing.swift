// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Failures that several parts of the engine report.
extension TransportError {
  static let memoryHint = "raise the memory of the process, or do less at once"

  static let unmarkedProxy = invalidTLSOptions(
    "OpenSSL's configuration sets the option that marks the connection to an https proxy",
    hint: "remove Bugs from the Options of openssl.cnf, or use an http proxy")

  static let noContextHook = invalidTLSOptions(
    "this libcurl has no OpenSSL context to hook into",
    hint: "install the libcurl that is built with OpenSSL: libcurl4 on Debian")

  static let unrecordedChain = TransportError(
    stage: .tls, code: .engineFailure, message: "Lastro has no verified chain for this connection", hint: "report it")

  static let truncatedStream = TransportError(
    stage: .response, code: .truncatedStream,
    message: "the stream ended without TLS close_notify: bytes may be missing",
    hint: "an attacker who cuts the connection can do this; accept it only if the protocol states lengths",
    requestSent: true)

  static func invalidTLSOptions(_ message: String, hint: String?) -> TransportError {
    TransportError(stage: .tls, code: .invalidTLSConfiguration, message: message, hint: hint)
  }
}
