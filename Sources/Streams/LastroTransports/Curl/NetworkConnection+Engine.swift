// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroCurl

extension NetworkConnection {
  /// Makes a connection over the shared engine (`CurlDialer.shared`), as `NWConnection(to:using:)` is over the
  /// system's.
  ///
  /// Its viability follows the system's network (``NetlinkPathMonitor``), unless the parameters have a monitor.
  ///
  /// - Parameters:
  ///   - endpoint: where it leads.
  ///   - parameters: stream or datagrams, TLS, framers; copied.
  public convenience init(to endpoint: ConnectionEndpoint, using parameters: ConnectionParameters) {
    self.init(to: endpoint, using: parameters.watched(), dialer: CurlDialer.shared)
  }
}

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

extension ConnectionParameters {
  fileprivate func watched() -> ConnectionParameters {
    guard pathMonitor == nil else { return self }
    let result = copy()
    result.pathMonitor = NetlinkPathMonitor.shared
    return result
  }
}
