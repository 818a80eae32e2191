// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroCurl

/// Connections to one endpoint over the shared engine: what a transport uses where it is given no factory.
public struct NetworkConnectionFactory: ConnectionFactory {
  private let endpoint: ConnectionEndpoint

  /// Makes a factory.
  ///
  /// - Parameter endpoint: where every connection leads.
  public init(to endpoint: ConnectionEndpoint) { self.endpoint = endpoint }

  /// Makes a connection; never `nil`. What the engine cannot do is told by state `failed`.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    NetworkConnection(to: endpoint, using: parameters)
  }
}
