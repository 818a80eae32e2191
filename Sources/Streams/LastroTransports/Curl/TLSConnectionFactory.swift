// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroCurl

/// TLS as a pluggable transport (`TLSDialer`), constructed as the Swift Transport API wants it (§1.2).
///
/// For parameters that ask for UDP, ``connect(using:)`` gives `nil`. What parameters ask for beyond, the innermost
/// connection does.
public struct TLSConnectionFactory: ConnectionFactory {
  private let nested: NestedConnectionFactory

  /// Makes a factory that connects to its server itself, by the shared engine.
  ///
  /// - Parameters:
  ///   - serverAddress: IPv4 address, IPv6 address or name, with a port: the host that the certificate has to be for,
  ///     unless `tls` says otherwise.
  ///   - tls: name, protocols, and how certificates are checked. Default: the standard.
  ///   - options: roots, client certificate, judge and the rest of `tls`. Default: system roots, no judge.
  /// - Throws: `ConfigurationError` for any other kind of endpoint.
  public init(
    serverAddress: ConnectionEndpoint, tls: DialRequest.TLS = DialRequest.TLS(),
    options: ConnectionOptions = ConnectionOptions()
  ) throws(ConfigurationError) {
    try self.init(
      serverAddress: serverAddress, tls: tls, options: options,
      factory: DialerConnectionFactory(to: serverAddress, dialer: PlainCarrier(below: CurlDialer.shared)))
  }

  /// Makes a factory over the connections of another, one for each of its own.
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

  /// Makes a factory over one connection. Its loss is final: every connection but the first fails with code
  /// `connection_lost`.
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

  /// Makes a connection; `nil` for UDP, and for TLS in the parameters over one connection.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    nested.connect(using: parameters)
  }
}

/// The bytes of TLS go over it, so the server is not talked to in the clear.
private struct PlainCarrier: Dialer {
  let below: any Dialer

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    var request = request
    request.role = .proxy
    return try await below.dial(request)
  }
}
