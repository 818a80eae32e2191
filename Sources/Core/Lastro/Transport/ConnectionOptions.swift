// SPDX-License-Identifier: Apache-2.0

package import LastroWire

/// The options of connections: HTTP version, TLS, proxy, name resolution and local address.
///
/// ```swift
/// var configuration = CurlConfiguration()
/// configuration.connection.proxy = .url("http://proxy.example:3128", bypass: ["internal.example"])
/// configuration.connection.tls.minimumVersion = .v1_3
/// ```
///
/// Connections are shared only between requests with equal options.
public struct ConnectionOptions: Sendable, Hashable {
  /// An HTTP version to use.
  @nonexhaustive
  public enum HTTPVersion: Sendable, Hashable {
    /// HTTP/2 over TLS if the server offers it (ALPN), else HTTP/1.1. Plain `http` uses HTTP/1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1
    /// Like `automatic`, but plain `http` uses HTTP/2 with prior knowledge (h2c, RFC 9113 §3.3). Plain `http` through a
    /// proxy that forwards requests still uses HTTP/1.1.
    case http2
  }

  /// The fixed addresses of a name.
  package struct Resolution: Sendable, Hashable {
    /// The host in the URL.
    package var host: String
    /// The port of the URL.
    package var port: Int
    /// The IPv4 or IPv6 addresses, without brackets.
    package var addresses: [String]

    /// Makes a fixed resolution.
    package init(host: String, port: Int, addresses: [String]) {
      self.host = host
      self.port = port
      self.addresses = addresses
    }
  }

  /// The HTTP version. Default ``HTTPVersion/automatic``.
  public var httpVersion = HTTPVersion.automatic
  /// The TLS options. Default: system roots, TLS 1.2 at least, no client certificate.
  public var tls = TLSOptions()
  /// The proxy options. Default: from the environment, which is read once when the stack is made.
  public var proxy = ProxyOptions.environment
  /// The fixed resolutions, which take precedence over DNS. Default none.
  package var resolutions: [Resolution] = []
  /// The path of a Unix socket to connect to instead of the URL's host. Default `nil`.
  public var unixSocketPath: String?
  /// The interface name, local address or host name to bind to (`CURLOPT_INTERFACE`). For datagrams, a host name is not
  /// allowed. Default `nil`.
  public var localInterface: String?

  /// The rules that restrict the addresses of connections, and the source of addresses. LastroResilience and
  /// LastroEveryday set it.
  package var reach = ConnectionReach()

  /// Makes the default options.
  public init() {}

  /// Connects to fixed addresses for a host and port, like curl's `--resolve HOST:PORT:ADDRESS`. They take precedence
  /// over DNS, and the certificate is still checked against the host. The last call for a host and port prevails.
  ///
  /// ```swift
  /// engine.connection.resolve("api.example.com", port: 443, to: ["192.0.2.7"])
  /// ```
  ///
  /// - Parameters:
  ///   - host: the host in the URL.
  ///   - port: the port of the URL.
  ///   - addresses: the IPv4 or IPv6 addresses, without brackets.
  public mutating func resolve(_ host: String, port: Int, to addresses: [String]) {
    resolutions.append(Resolution(host: host, port: port, addresses: addresses))
  }
}
