// SPDX-License-Identifier: Apache-2.0

/// The step of a fetch that failed.
///
/// The raw value is a stable word, used in logs, by `lastro fetch --report` and for its exit status.
@nonexhaustive
public enum FailureStage: String, Sendable, Hashable, CaseIterable, Codable {
  /// The request could not be built, or was refused before anything was sent.
  case request
  /// The host name could not be resolved.
  case resolve
  /// No connection to the host could be opened.
  case connect
  /// The proxy could not be reached or refused the tunnel.
  case proxy
  /// The TLS handshake or certificate validation failed.
  case tls
  /// A pin, or another trust judge, refused a certificate that ordinary validation accepted.
  case trust
  /// The request could not be sent in full.
  case send
  /// The response was malformed, truncated or never came.
  case response
  /// The body could not be turned into a model.
  case decode
  /// A configured size or count was exceeded.
  case limit
  /// A deadline passed; the code says which.
  case timeout
  /// A redirect could not be followed.
  case redirect
  /// A local policy refused to send the request: an open circuit, a concurrency limit or a rate limit.
  case policy
  /// The caller cancelled the call, or the stack was shut down.
  case cancelled
  /// The server answered with a status outside 200–299.
  case http
}
