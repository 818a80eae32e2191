// SPDX-License-Identifier: Apache-2.0

package import LastroWire

/// How connections are made: HTTP version, TLS, proxy, name resolution, local end.
///
/// ```swift
/// var configuration = CurlConfiguration()
/// configuration.connection.proxy = .url("http://proxy.example:3128", bypass: ["internal.example"])
/// configuration.connection.tls.minimumVersion = .v1_3
/// ```
///
/// Connections are only ever shared between requests with equal options.
public struct ConnectionOptions: Sendable, Hashable {
  /// Which HTTP version to speak.
  public enum HTTPVersion: Sendable, Hashable {
    /// HTTP/2 over TLS where the server offers it (ALPN), else HTTP/1.1. Plain `http` uses HTTP/1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1
    /// As `automatic`, and HTTP/2 with prior knowledge over plain `http` (h2c, RFC 9113 §3.3). Over libcurl's own
    /// transfers before 8.0.0, h2c takes a connection for each request (curl/curl#10643).
    case http2
  }

  /// A fixed answer for one name, like curl's `--resolve HOST:PORT:ADDRESS`.
  public struct Resolution: Sendable, Hashable {
    /// Host as it stands in the URL.
    public var host: String
    /// Port as it stands in the URL.
    public var port: Int
    /// IPv4 or IPv6 addresses, without brackets.
    public var addresses: [String]

    /// Makes a fixed answer.
    public init(host: String, port: Int, addresses: [String]) {
      self.host = host
      self.port = port
      self.addresses = addresses
    }
  }

  private struct Parts: Sendable, Hashable {
    var httpVersion = HTTPVersion.automatic
    var tls = TLSOptions()
    var proxy = ProxyOptions.environment
    var resolutions: [Resolution] = []
    var unixSocketPath: String?
    var localInterface: String?
    var reach = ConnectionReach()
  }

  private static let standard = CopyOnWrite(Parts())
  private var parts = Self.standard

  /// Default ``HTTPVersion/automatic``.
  public var httpVersion: HTTPVersion {
    get { parts.value.httpVersion }
    _modify { yield &parts.value.httpVersion }
  }
  /// Default: system roots, TLS 1.2 at least, no client certificate.
  public var tls: TLSOptions {
    get { parts.value.tls }
    _modify { yield &parts.value.tls }
  }
  /// Default: from the environment, read once when the stack is made.
  public var proxy: ProxyOptions {
    get { parts.value.proxy }
    _modify { yield &parts.value.proxy }
  }
  /// Fixed answers; asked before DNS. Default none.
  public var resolutions: [Resolution] {
    get { parts.value.resolutions }
    _modify { yield &parts.value.resolutions }
  }
  /// Path of a Unix socket to connect to instead of the URL's host. Default `nil`.
  public var unixSocketPath: String? {
    get { parts.value.unixSocketPath }
    _modify { yield &parts.value.unixSocketPath }
  }
  /// Interface name, local address or host name to bind to (`CURLOPT_INTERFACE`); for datagrams no
  /// host name. Default `nil`.
  public var localInterface: String? {
    get { parts.value.localInterface }
    _modify { yield &parts.value.localInterface }
  }

  /// To which addresses connections may be made, and who finds them. LastroResilience and LastroNames set it.
  package var reach: ConnectionReach {
    get { parts.value.reach }
    _modify { yield &parts.value.reach }
  }

  /// Makes the default options.
  public init() {}
}

extension ConnectionOptions: CustomReflectable {
  /// Its properties.
  public var customMirror: Mirror {
    Mirror(self, children: Mirror(reflecting: parts.value).children, displayStyle: .struct)
  }
}
