// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroCurl
internal import LastroTunnels

/// A nested pluggable transport as defined by the Swift Transport API (§1.2). Its connections are dialed over those of
/// a factory, or over a single connection. The innermost connection applies all other parameters. Over a single
/// connection, framers run on the bytes that the transport carries, and parameters with TLS are not supported.
package struct NestedConnectionFactory: ConnectionFactory {
  /// A closure that puts a transport over a dialer.
  package typealias Nest = @Sendable (any Dialer) throws -> any Dialer

  private enum Base: Sendable {
    case factory(any ConnectionFactory)
    case connection(SingleConnectionDialer)
  }

  private let base: Base
  private let endpoint: ConnectionEndpoint
  private let tls: DialRequest.TLS?
  private let nest: Nest

  /// - Parameters:
  ///   - endpoint: the destination of the transport's connections.
  ///   - tls: the TLS parameters of the outermost dialer. Default `nil`: the standard ones for a `TLSDialer`, otherwise
  ///     none.
  ///   - nest: puts the transport over a dialer.
  package init(
    to endpoint: ConnectionEndpoint, tls: DialRequest.TLS? = nil, over factory: any ConnectionFactory,
    _ nest: @escaping Nest
  ) throws(ConfigurationError) {
    try self.init(.factory(factory), endpoint, tls, nest)
  }

  package init(
    to endpoint: ConnectionEndpoint, tls: DialRequest.TLS? = nil, over connection: any Connection,
    _ nest: @escaping Nest
  ) throws(ConfigurationError) {
    try self.init(.connection(SingleConnectionDialer(connection)), endpoint, tls, nest)
  }

  private init(
    _ base: Base, _ endpoint: ConnectionEndpoint, _ tls: DialRequest.TLS?, _ nest: @escaping Nest
  ) throws(ConfigurationError) {
    self.base = base
    self.endpoint = endpoint
    self.nest = nest
    _ = try Self.address(of: endpoint)
    let outermost: any Dialer
    do {
      outermost = try nest(NowhereDialer())
    } catch {
      throw (error as? ConfigurationError) ?? ConfigurationError("the tunnel cannot be created: \(error)")
    }
    // A `TLSDialer` passes a request without TLS on in plaintext, which would be an unnoticed loss of security.
    self.tls = tls ?? (outermost is TLSDialer ? DialRequest.TLS() : nil)
  }

  package func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    guard parameters.defaultProtocolStack.transportProtocol == .tcp else { return nil }
    let below: any Dialer
    let outer: ConnectionParameters
    switch base {
    case .factory(let factory):
      below = ConnectionFactoryDialer(factory, using: parameters)
      outer = parameters.withoutInnermost()
    case .connection(let dialer):
      // The connection already exists and cannot add TLS. Refuse the parameters rather than ignore their TLS silently.
      guard parameters.tls == nil else { return nil }
      below = dialer
      outer = parameters.copy()
    }
    outer.tls = tls
    guard let dialer = try? nest(below) else { return nil }
    return NetworkConnection(to: endpoint, using: outer, dialer: dialer)
  }

  /// Returns the host and port of a `serverAddress`.
  package static func address(of endpoint: ConnectionEndpoint) throws(ConfigurationError) -> (host: String, port: Int) {
    do throws(ConnectionError) {
      return try endpoint.serverAddress()
    } catch {
      throw ConfigurationError(error.transportError.message, hint: error.transportError.hint)
    }
  }
}
