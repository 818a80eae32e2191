// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroCurl
internal import LastroHTTP
public import LastroTunnels

extension ViaChain {
  /// Makes a stack whose fetches go this way, on an engine of its own.
  ///
  /// ```swift
  /// let pins = try PinningPolicy("api.example.com", pins: ["sha256/…", "sha256/…"])
  /// let stack = try ViaChain(["socks5://127.0.0.1:9050"]).stack(CurlConfiguration(pins: [pins]))
  /// let page = try await stack.fetch(.raw(try ResourceRequest(url: "https://api.example.com/")))
  /// ```
  ///
  /// - Parameters:
  ///   - engine: pins, roots, limits; how the first hop is reached.
  ///   - configuration: interceptors, time limits, redirects.
  /// - Throws: `ConfigurationError` for credentials that a tunnel cannot carry, for a value that cannot work, or when
  ///   threads or descriptors ran out.
  public func stack(
    _ engine: CurlConfiguration = CurlConfiguration(), configuration: StackConfiguration = StackConfiguration()
  ) throws(ConfigurationError) -> TransportNetworkStack {
    try stack(on: CurlTransport(engine), configuration: configuration)
  }

  /// Makes a stack whose fetches go this way, on an engine that runs: under its pins, roots and limits.
  ///
  /// HTTP is a `DialerTransport`'s over ``dialer(on:)``: HTTP/2 where the server picks it, with the engine's
  /// `User-Agent` and content codings. Names go down the chain unresolved, whatever fixed name answers there are, so
  /// nothing about a fetch's host is asked of the DNS here; a Unix socket in a host's place and a required OCSP staple
  /// are refused. A proxy of the engine's options, or of the environment, is asked on the way to the first hop alone.
  ///
  /// Every stack has connections of its own, which no other stack's fetch goes over: of another chain, of the same
  /// chain, or of the engine. When it is dropped they close. Shutting the engine down ends its fetches.
  ///
  /// - Parameters:
  ///   - engine: reaches the first hop.
  ///   - configuration: interceptors, time limits, redirects.
  /// - Throws: `ConfigurationError` for credentials that a tunnel cannot carry.
  public func stack(
    on engine: CurlTransport, configuration: StackConfiguration = StackConfiguration()
  ) throws(ConfigurationError) -> TransportNetworkStack {
    var exchange = engine.exchange
    exchange.dialerName = hops.isEmpty ? nil : description
    return TransportNetworkStack(
      transport: try DialerTransport(over: dialer(on: engine), configuration: exchange), configuration: configuration)
  }
}
