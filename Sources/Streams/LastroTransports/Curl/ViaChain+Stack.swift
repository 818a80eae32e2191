// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroCurl
internal import LastroHTTP
public import LastroTunnels

extension ViaChain {
  /// Returns a stack whose fetches go through this chain, on the engine of another stack, with that engine's pins,
  /// roots and limits.
  ///
  /// ```swift
  /// let pins = try PinningPolicy("api.example.com", pins: ["sha256/…", "sha256/…"])
  /// let engine = try CurlNetworkStack(CurlConfiguration(pins: [pins]))
  /// let stack = try ViaChain(["socks5://127.0.0.1:9050"]).stack(on: engine)
  /// let page = try await stack.fetch(.raw(try ResourceRequest(url: "https://api.example.com/")))
  /// ```
  ///
  /// A `DialerTransport` over ``dialer(on:)`` speaks HTTP: HTTP/2 if the server selects it, with the engine's
  /// `User-Agent` and content codings. Names are passed through the chain unresolved, even if the options have fixed
  /// addresses for them, so this machine makes no DNS query for the host of a fetch. A Unix socket in place of a host
  /// and a required OCSP staple are refused. A proxy of the engine's options or of the environment is used only on the
  /// way to the first hop.
  ///
  /// Each stack has its own connections. They are not shared with stacks of the same chain, of another chain, or of the
  /// engine, and they close when the stack is released. Shutting the engine down ends the stack's fetches.
  ///
  /// - Parameters:
  ///   - stack: the stack whose engine reaches the first hop.
  ///   - configuration: the interceptors, timeouts and redirect policy.
  /// - Throws: `ConfigurationError` for credentials that a tunnel cannot carry.
  public func stack(
    on stack: CurlNetworkStack, configuration: StackConfiguration = StackConfiguration()
  ) throws(ConfigurationError) -> TransportNetworkStack {
    try self.stack(on: stack.transport, configuration: configuration)
  }

  /// Returns a stack whose fetches go through this chain, on a running engine.
  package func stack(
    on engine: CurlTransport, configuration: StackConfiguration = StackConfiguration()
  ) throws(ConfigurationError) -> TransportNetworkStack {
    var exchange = engine.exchange
    exchange.dialerName = hops.isEmpty ? nil : description
    return TransportNetworkStack(
      transport: try DialerTransport(over: dialer(on: engine), configuration: exchange), configuration: configuration)
  }
}
