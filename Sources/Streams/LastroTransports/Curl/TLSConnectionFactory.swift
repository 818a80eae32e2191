// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroCurl

/// TLS as a pluggable transport (`TLSDialer`), with the initializers that the Swift Transport API defines (§1.2).
///
/// For parameters that ask for UDP, ``connect(using:)`` returns `nil`. The innermost connection applies all other
/// parameters.
public struct TLSConnectionFactory: ConnectionFactory {
  private let nested: NestedConnectionFactory

  /// Creates a factory that dials its server with the shared engine.
  ///
  /// - Parameters:
  ///   - serverAddress: an IPv4 address, an IPv6 address or a name, with a port. The certificate must be for this host,
  ///     unless `tls` names another.
  ///   - tls: the server's name, the protocols to offer, and the check of certificates. Default: the standard.
  ///   - options: the roots, the client certificate, the judge and the other TLS options. Default: system roots, no judge.
  /// - Throws: `ConfigurationError` for any other kind of endpoint.
  public init(
    serverAddress: ConnectionEndpoint, tls: DialRequest.TLS = DialRequest.TLS(),
    options: ConnectionOptions = ConnectionOptions()
  ) throws(ConfigurationError) {
    try self.init(
      serverAddress: serverAddress, tls: tls, options: options,
      factory: DialerConnectionFactory(to: serverAddress, dialer: PlainCarrier(below: CurlDialer.shared)))
  }

  /// Creates a factory over the connections of another factory. Each connection uses one of them.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    serverAddress: ConnectionEndpoint, tls: DialRequest.TLS = DialRequest.TLS(),
    options: ConnectionOptions = ConnectionOptions(), factory: any ConnectionFactory
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: serverAddress, tls: tls, over: factory) { below in
      TLSDialer(over: below, connection: options)
    }
  }

  /// Creates a factory over a single connection, which cannot be replaced: every connection of the factory but the first
  /// fails with code `connection_lost`.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    serverAddress: ConnectionEndpoint, tls: DialRequest.TLS = DialRequest.TLS(),
    options: ConnectionOptions = ConnectionOptions(), connection: any Connection
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: serverAddress, tls: tls, over: connection) { below in
      TLSDialer(over: below, connection: options)
    }
  }

  /// Creates a connection; returns `nil` for UDP, and over a single connection for parameters with TLS.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    nested.connect(using: parameters)
  }
}

/// A stream that carries the bytes of TLS, so nothing is sent to the server in the clear.
private struct PlainCarrier: Dialer {
  let below: any Dialer

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    var request = request
    request.role = .proxy
    return try await below.dial(request)
  }
}
