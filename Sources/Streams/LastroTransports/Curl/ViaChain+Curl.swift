// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroCurl
public import LastroTunnels

extension ViaChain {
  /// Returns the dialer of this chain over the engine of a stack, with the engine's options and judges: pins hold
  /// through every chain, and the engine's proxies are used on the way to the first hop.
  ///
  /// A chain without hops returns the engine's own dialer.
  ///
  /// - Throws: `ConfigurationError` for credentials that a tunnel cannot carry.
  public func dialer(on stack: CurlNetworkStack) throws(ConfigurationError) -> any Dialer {
    try dialer(on: stack.transport)
  }

  /// Returns the dialer of this chain over an engine.
  package func dialer(on engine: CurlTransport) throws(ConfigurationError) -> any Dialer {
    try dialer(over: engine, connection: engine.connection)
  }

  /// Returns the dialer of this chain.
  ///
  /// - Parameters:
  ///   - base: the dialer that reaches the first hop. It must support TLS. Default: the shared engine's.
  ///   - connection: the TLS options behind the first hop, unless a request has its own. The judge is always asked.
  /// - Throws: `ConfigurationError` for credentials that a tunnel cannot carry.
  public func dialer(
    over base: any Dialer = CurlNetworkStack.sharedDialer, connection: ConnectionOptions = ConnectionOptions()
  ) throws(ConfigurationError) -> any Dialer {
    try dialer(over: base) { TLSDialer(over: $0, connection: connection) }
  }
}
