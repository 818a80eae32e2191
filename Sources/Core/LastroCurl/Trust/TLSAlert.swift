// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// A fatal alert with which a peer ended TLS (RFC 8446 §6.2).
struct TLSAlert {
  /// The number of the alert.
  let value: Int32
  /// Whether the peer had asked for a client certificate, and there was none to send.
  let certificateWasMissing: Bool

  /// Whether the peer wanted a client certificate and got none. TLS 1.3 has a separate alert for it (RFC 8446
  /// §4.4.2.4). TLS 1.2 uses the general handshake failure (RFC 5246 §7.4.6), which counts if the peer had asked for a
  /// certificate.
  var wantsCertificate: Bool {
    value == SSL_AD_CERTIFICATE_REQUIRED || value == SSL_AD_HANDSHAKE_FAILURE && certificateWasMissing
  }

  /// The name of the alert. OpenSSL 3.0 has no names for alerts that are new in TLS 1.3.
  var name: String {
    switch value {
    case SSL_AD_CERTIFICATE_REQUIRED: "certificate required"
    case SSL_AD_NO_APPLICATION_PROTOCOL: "no application protocol"
    default: String(cString: SSL_alert_desc_string_long(value))
    }
  }

  /// Returns the error for the alert.
  func failure(_ stage: FailureStage, requestSent: Bool) -> TransportError {
    guard wantsCertificate else {
      return TransportError(
        stage: stage, code: .handshakeFailed, message: "the server ended TLS with the alert \"\(name)\"",
        hint: requestSent
          ? "it may require a client certificate, or not trust the one it got"
          : "it may support no common version, cipher or protocol, not know the name, or require a client certificate",
        requestSent: requestSent)
    }
    return TransportError(
      stage: stage, code: .clientCertificateRequired,
      message: "the server requires a client certificate and got none (alert \"\(name)\")",
      hint: "give one with TLSOptions.identity, from an authority that the server trusts", requestSent: requestSent)
  }
}
