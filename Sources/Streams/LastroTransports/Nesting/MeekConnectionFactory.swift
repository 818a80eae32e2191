// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro
internal import LastroTunnels

/// meek as a pluggable transport (`Tunnel.meek`), with the initialisers that the Swift Transport API defines (§1.2).
///
/// The meek server determines the destination of its connections. For parameters that ask for UDP, ``connect(using:)``
/// returns `nil`.
public struct MeekConnectionFactory: ConnectionFactory {
  private let connections: NetworkConnectionFactory

  /// Creates a factory whose requests are sent by a stack.
  ///
  /// - Parameters:
  ///   - to: the URL to contact: that of the front, or of the server itself.
  ///   - serverURL: the URL of the meek server.
  ///   - stack: the stack that sends the requests.
  /// - Throws: `ConfigurationError` if a URL cannot be used: see `Tunnel.meek`.
  public init(to: URL, serverURL: URL, stack: any HTTPNetworkStack) throws(ConfigurationError) {
    let server = try MeekServer(to: to, serverURL: serverURL)
    connections = NetworkConnectionFactory(to: .somewhere, dialer: MeekDialer(server, through: stack))
  }

  /// Creates a factory over the connections of another factory, which lead to the front, and use TLS if it is `https`.
  /// Lastro itself sends the requests, as HTTP/1.1, and reuses a connection for several of them.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(to: URL, serverURL: URL, factory: any ConnectionFactory) throws(ConfigurationError) {
    let server = try MeekServer(to: to, serverURL: serverURL)
    connections = try NetworkConnectionFactory(to: .somewhere, factory: factory) { below in
      MeekDialer(server, over: CarriedDialer(below: below))
    }
  }

  /// Creates a connection; returns `nil` for UDP.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    parameters.isDatagrams ? nil : connections.connect(using: parameters)
  }
}

/// A dialer over connections that already use TLS.
private struct CarriedDialer: Dialer {
  let below: any Dialer

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    var request = request
    request.tls = nil
    return try await below.dial(request)
  }
}
