// SPDX-License-Identifier: Apache-2.0

/// A change of an engine's connection: it was opened, changed its state, or was closed.
public struct ConnectionChange: Sendable, Hashable {
  /// The state of a connection, in OpenTelemetry's terms.
  public enum State: String, Sendable, Hashable {
    /// The connection carries a request, or was opened for one.
    case active
    /// The connection waits for the next request.
    case idle
  }

  /// The server's origin; the proxy's, if requests for many servers share the connection.
  public var origin: Origin
  /// The state before the change; `nil` if the connection was opened.
  public var from: State?
  /// The state after the change; `nil` if the connection was closed.
  public var to: State?
  /// The time since the connection was opened.
  public var age: Duration
  /// The time for which the client certificate of the connection is still valid, negative after its end; `nil` if the
  /// connection has none. The server may have asked for none.
  public package(set) var clientCertificateValidity: Duration?

  package init(origin: Origin, from: State?, to: State?, age: Duration) {
    (self.origin, self.from, self.to, self.age) = (origin, from, to, age)
  }
}
