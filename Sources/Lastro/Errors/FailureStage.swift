// SPDX-License-Identifier: Apache-2.0

/// The step of a fetch at which it failed.
///
/// The raw value is a stable word: logs, `lastro fetch --report` and its exit status use it.
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
  /// A deadline passed; the code names which.
  case timeout
  /// A redirect could not be followed.
  case redirect
  /// A policy of this side let nothing out: an open circuit, a limit of concurrency or of rate.
  case policy
  /// The caller cancelled, or the stack was shut down.
  case cancelled
  /// The server answered with a status outside 200–299.
  case http
}
