// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroCurl
public import LastroTunnels

extension ViaChain {
  /// Makes the dialer that goes this way from an engine, with its options and under its judges: pins hold through every
  /// chain, and the proxies on the way are reached as the engine reaches hosts.
  ///
  /// Without hops it is the engine's own dialer.
  ///
  /// - Throws: `ConfigurationError` for credentials that a tunnel cannot carry.
  public func dialer(on engine: CurlTransport) throws(ConfigurationError) -> any Dialer {
    try dialer(over: CurlDialer(transport: engine), connection: engine.connection)
  }

  /// Makes the dialer that goes this way.
  ///
  /// - Parameters:
  ///   - base: reaches the first hop. It has to do TLS. Default: the shared engine.
  ///   - connection: how TLS is spoken behind the first hop, unless a request says otherwise; its judge is asked
  ///     always.
  /// - Throws: `ConfigurationError` for credentials that a tunnel cannot carry.
  public func dialer(
    over base: any Dialer = CurlDialer.shared, connection: ConnectionOptions = ConnectionOptions()
  ) throws(ConfigurationError) -> any Dialer {
    try dialer(over: base) { TLSDialer(over: $0, connection: connection) }
  }
}
