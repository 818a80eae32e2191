// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroCurl

/// A factory of connections to one endpoint, which the shared engine dials. Pluggable transports use it if they are
/// given no factory.
public struct NetworkConnectionFactory: ConnectionFactory {
  private let endpoint: ConnectionEndpoint

  /// Creates a factory.
  ///
  /// - Parameter endpoint: the destination of every connection.
  public init(to endpoint: ConnectionEndpoint) { self.endpoint = endpoint }

  /// Creates a connection; never returns `nil`. Parameters that the engine does not support end the connection in state
  /// `failed`.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    NetworkConnection(to: endpoint, using: parameters)
  }
}
