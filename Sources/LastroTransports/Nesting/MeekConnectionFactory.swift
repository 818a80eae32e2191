// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroTunnels

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// meek as a pluggable transport (`MeekDialer`), constructed as the Swift Transport API wants it (§1.2).
///
/// Its connections lead where the meek server leads. For parameters that ask for UDP, ``connect(using:)`` gives `nil`.
public struct MeekConnectionFactory: ConnectionFactory {
  private enum Base: Sendable {
    case stack(any HTTPNetworkStack)
    case nested(NestedConnectionFactory)
  }

  private let server: MeekServer
  private let base: Base

  /// Makes a factory whose requests a stack makes.
  ///
  /// - Parameters:
  ///   - to: the URL that is contacted: the front, or the server itself.
  ///   - serverURL: the meek server.
  ///   - stack: makes the requests.
  /// - Throws: `ConfigurationError`, as `MeekServer` does.
  public init(to: URL, serverURL: URL, stack: any HTTPNetworkStack) throws(ConfigurationError) {
    server = try MeekServer(to: to, serverURL: serverURL)
    base = .stack(stack)
  }

  /// Makes a factory over the connections of another, which lead to the front, and do TLS where it is `https`. Its
  /// requests are HTTP/1.1, spoken by Lastro itself; a connection is used for several.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(to: URL, serverURL: URL, factory: any ConnectionFactory) throws(ConfigurationError) {
    let server = try MeekServer(to: to, serverURL: serverURL)
    self.server = server
    base = .nested(
      try NestedConnectionFactory(to: .somewhere, over: factory) { below in
        MeekDialer(server, over: CarriedDialer(below: below))
      })
  }

  /// Makes a connection; `nil` for UDP.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    guard parameters.defaultProtocolStack.transportProtocol == .tcp else { return nil }
    switch base {
    case .nested(let factory): return factory.connect(using: parameters)
    case .stack(let stack):
      return NetworkConnection(
        to: .somewhere, using: parameters, dialer: MeekDialer(server, through: stack))
    }
  }
}

/// Over connections that do TLS by themselves.
private struct CarriedDialer: Dialer {
  let below: any Dialer

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    var request = request
    request.tls = nil
    return try await below.dial(request)
  }
}
