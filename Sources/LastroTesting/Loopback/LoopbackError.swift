// SPDX-License-Identifier: Apache-2.0

/// What a loopback server, or a connection of it, could not do.
public enum LoopbackError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The address cannot be listened at.
  case cannotListen(String)
  /// The certificate, key or TLS options are unusable.
  case invalidTLS(String)
  /// The TLS handshake with a client failed.
  case handshakeFailed(String)
  /// The peer went away, or the connection was closed here, with something still to be read or written.
  case disconnected
  /// What the client sent is not the HTTP/1.1 the reader expected.
  case malformedRequest(String)
  /// The server was stopped while something was awaited.
  case stopped
  /// No thread could be started for a connection (`pthread_create`), or no pipe be made.
  case outOfResources(String)

  /// One sentence.
  public var description: String {
    switch self {
    case .cannotListen(let reason): "the loopback server cannot listen: \(reason)"
    case .invalidTLS(let reason): "the loopback server's TLS cannot be set up: \(reason)"
    case .handshakeFailed(let reason): "the client's TLS handshake failed: \(reason)"
    case .disconnected: "the connection is gone"
    case .malformedRequest(let reason): "the request is malformed: \(reason)"
    case .stopped: "the server was stopped"
    case .outOfResources(let reason): "out of resources: \(reason)"
    }
  }
}
