// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension NetworkConnection {
  /// Puts framers around any other connection, which becomes this one's own: it is started with this one, where it was
  /// not, and cancelled with it.
  ///
  /// Framers in the parameters of a transport's factory run at the innermost connection; those put here run on what the
  /// transport carries.
  ///
  /// - Parameters:
  ///   - connection: carries the bytes. It must have no other user.
  ///   - framers: the one nearest to the application first.
  ///   - parameters: limits, logger and path monitor; where they have no monitor, that of a ``NetworkConnection`` is
  ///     taken. Default: those of a stream. The connection exists already: TLS is refused with code `unsupported`.
  ///   - endpoint: what framers are told as the remote end. Default: that of a ``NetworkConnection``, else none that
  ///     exists.
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
