// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension NetworkConnection {
  /// Creates a connection that runs framers over another connection, and owns the other one: it starts it if necessary,
  /// and cancels it when it is cancelled itself.
  ///
  /// Framers in the parameters of a transport's factory run at the innermost connection. The framers passed here run on
  /// the bytes that the transport carries.
  ///
  /// - Parameters:
  ///   - connection: the connection that carries the bytes. It must have no other user.
  ///   - framers: the framers, starting with the one nearest to the application.
  ///   - parameters: limits, logger and path monitor; without a monitor, that of a ``NetworkConnection`` is used.
  ///     Default: those of a stream. Because the connection already exists, TLS is refused with code `unsupported`.
  ///   - endpoint: the remote endpoint that framers see. Default: that of a ``NetworkConnection``, else a placeholder.
  public convenience init(
    over connection: any Connection, framers: [any ProtocolOptions], using parameters: ConnectionParameters = .tcp,
    endpoint: ConnectionEndpoint? = nil
  ) {
    let own = parameters.copy()
    own.defaultProtocolStack.transportProtocol = .tcp
    own.defaultProtocolStack.applicationProtocols = framers
    if own.pathMonitor == nil { own.pathMonitor = (connection as? NetworkConnection)?.parameters.pathMonitor }
    let known = endpoint ?? (connection as? NetworkConnection)?.endpoint
    self.init(to: known ?? .somewhere, using: own, dialer: SingleConnectionDialer(connection))
  }
}
