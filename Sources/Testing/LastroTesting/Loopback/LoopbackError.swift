// SPDX-License-Identifier: Apache-2.0

/// An error of a loopback server, of one of its connections, or of a certificate.
public enum LoopbackError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The server cannot listen on the address.
  case cannotListen(String)
  /// The certificate, key or TLS options are unusable.
  case invalidTLS(String)
  /// A certificate could not be created, or a PEM text could not be read; the text names the step.
  case invalidCertificate(String)
  /// The TLS handshake with a client failed.
  case handshakeFailed(String)
  /// The peer went away, or the connection was closed locally, while bytes remained to be read or written.
  case disconnected
  /// The client's bytes are not the HTTP that the reader expected.
  case malformedRequest(String)
  /// The server was stopped during a wait.
  case stopped
  /// No thread could be started for a connection (`pthread_create`), or no pipe created.
  case outOfResources(String)

  /// The error as a sentence.
  public var description: String {
    switch self {
    case .cannotListen(let reason): "the loopback server cannot listen: \(reason)"
    case .invalidTLS(let reason): "the loopback server's TLS cannot be set up: \(reason)"
    case .invalidCertificate(let reason): reason
    case .handshakeFailed(let reason): "the client's TLS handshake failed: \(reason)"
    case .disconnected: "the connection is gone"
    case .malformedRequest(let reason): "the request is malformed: \(reason)"
    case .stopped: "the server was stopped"
    case .outOfResources(let reason): "out of resources: \(reason)"
    }
  }
}
