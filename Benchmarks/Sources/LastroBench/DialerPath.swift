// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import Lastro
import LastroCurl
import LastroHTTP
import LastroTunnels

/// A path to the server that `dialer=` selects for a ``DialerTransport``.
enum DialerPath: String, CaseIterable {
  /// The dialer of the stack alone.
  case curl
  /// A stream through the SOCKS 5 proxy of `proxy=`.
  case socks
  /// TLS with the server inside the stream of ``socks``.
  case secureSocks = "socks-tls"

  /// Returns the path of `dialer=`; `nil` if the key was not given.
  ///
  /// - Throws: `BenchFailure` for an unknown path, and for a scenario that is not measured over dialers.
  static func selected(_ arguments: Arguments) throws(BenchFailure) -> Self? {
    guard let name = arguments["dialer"] else { return nil }
    guard let path = Self(rawValue: name) else {
      throw .failed("dialer=\(name) is not one of \(allCases.map(\.rawValue).joined(separator: ", "))")
    }
    guard arguments.scenario == .fetch else { throw .unsupported("dialer= is for fetch alone") }
    return path
  }

  /// Returns a stack whose requests take the path, with the interceptors of the other scenarios.
  ///
  /// - Parameter base: the stack whose dialer opens the connections.
  func stack(over base: CurlNetworkStack, _ arguments: Arguments) throws -> TransportNetworkStack {
    let connection = try CurlConfiguration.bench(arguments).connection
    var configuration = DialerTransport.Configuration()
    configuration.connection = connection
    let dialer =
      switch self {
      case .curl: base.dialer
      case .socks: try socks(over: base.dialer, arguments)
      case .secureSocks: try socks(over: base.dialer, arguments).addingTLS(connection: connection)
      }
    return TransportNetworkStack(
      transport: try DialerTransport(over: dialer, configuration: configuration),
      configuration: try .bench(arguments))
  }

  private func socks(over base: any Dialer, _ arguments: Arguments) throws -> any Dialer {
    let proxy = try arguments.required("proxy").split(separator: ":")
    guard proxy.count == 2, let port = Int(proxy[1]) else { throw BenchFailure.failed("proxy= is HOST:PORT") }
    return try Tunnel.socks5(host: String(proxy[0]), port: port, over: base)
  }
}
