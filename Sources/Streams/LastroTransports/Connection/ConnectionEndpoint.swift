// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Glibc
internal import Lastro

/// The destination of a connection; it corresponds to `NWEndpoint` of Network framework.
///
/// Transports accept a host and a port: an IPv4 address, an IPv6 address or a name (Swift Transport API §1.2). They
/// refuse every other endpoint with code `unsupported`, unless they document otherwise. ``NetworkConnection`` also
/// accepts ``unix(path:)`` and ``url(_:)``.
public enum ConnectionEndpoint: Sendable, Hashable, CustomStringConvertible {
  /// A host and a port.
  case hostPort(host: Host, port: Port)
  /// A Unix socket.
  case unix(path: String)
  /// The host of a URL, with the port of the URL or of its scheme (http, https, ws, wss, gemini).
  case url(URL)
  /// A Bonjour service. It is always refused, and exists for source compatibility.
  case service(name: String, type: String, domain: String)

  /// A host: an address or a name.
  public enum Host: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// A name, which the connecting transport resolves.
    case name(String)
    /// An IPv4 address.
    case ipv4(IPv4Address)
    /// An IPv6 address.
    case ipv6(IPv6Address)

    /// Creates an address if the text is one (IPv6 with or without brackets), else a name. Names are validated when a
    /// connection is made.
    public init(_ text: String) {
      if let address = IPv4Address(text) {
        self = .ipv4(address)
      } else if let address = IPv6Address(text) {
        self = .ipv6(address)
      } else {
        self = .name(text)
      }
    }

    /// Creates a host like ``init(_:)``.
    public init(stringLiteral value: String) { self.init(value) }

    /// The name or address; IPv6 without brackets.
    public var description: String {
      switch self {
      case .name(let name): name
      case .ipv4(let address): address.description
      case .ipv6(let address): address.description
      }
    }
  }

  /// A port from 1 to 65,535; 0 is refused when a connection is made.
  public struct Port: RawRepresentable, Sendable, Hashable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// The number.
    public let rawValue: UInt16

    /// Creates a port; never returns `nil`. It is failable for compatibility with Network framework.
    public init?(rawValue: UInt16) { self.rawValue = rawValue }
    /// Creates a port from a number.
    public init(integerLiteral value: UInt16) { rawValue = value }
    /// Parses a decimal number; returns `nil` if the text is not one.
    public init?(_ text: String) {
      guard let number = UInt16(text), text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
      rawValue = number
    }

    /// The number.
    public var description: String { String(rawValue) }

    /// Port 80.
    public static let http: Port = 80
    /// Port 443.
    public static let https: Port = 443
  }

  /// An IPv4 address.
  public struct IPv4Address: Sendable, Hashable, CustomStringConvertible {
    /// The canonical text, dotted decimal.
    public let description: String

    /// Parses four decimal numbers separated by dots; returns `nil` for any other text.
    public init?(_ text: String) {
      guard text.utf8.count <= 15, let host = try? HostName(text), host.isIPAddress, !host.text.utf8.contains(58),
        !text.utf8.contains(58)
      else { return nil }
      description = host.text
    }
  }

  /// An IPv6 address, optionally with a zone (`fe80::1%eth0`).
  public struct IPv6Address: Sendable, Hashable, CustomStringConvertible {
    /// The address without its zone, in the format of RFC 5952.
    package let address: String
    /// The interface on which the address is valid; `nil` if there is no zone.
    package let zone: String?

    /// Parses an address with or without brackets; returns `nil` for any other text.
    public init?(_ text: String) {
      let parts = text.unbracketedHost.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
      guard let first = parts.first, first.utf8.count < 46, !first.utf8.contains(0) else { return nil }
      var bytes = in6_addr()
      guard inet_pton(AF_INET6, String(first), &bytes) == 1 else { return nil }
      guard parts.count == 1 || !parts[1].isEmpty else { return nil }
      guard let host = try? HostName(String(first)), host.text.utf8.contains(58) else { return nil }
      address = host.text
      zone = parts.count == 1 ? nil : String(parts[1])
    }

    /// The text, without brackets.
    public var description: String { zone.map { "\(address)%\($0)" } ?? address }
  }

  /// The endpoint in its usual notation: `example.com:443`, `[::1]:80`, the path or the URL.
  public var description: String {
    switch self {
    case .hostPort(let host, let port): "\(host.description.bracketedHost):\(port)"
    case .unix(let path): path
    case .url(let url): url.absoluteString
    case .service(let name, let type, let domain): "\(name).\(type).\(domain)"
    }
  }
}

extension ConnectionEndpoint {
  /// A placeholder for connections whose carrier already determines the destination.
  static let somewhere = ConnectionEndpoint.hostPort(host: "transport.invalid", port: 1)

  /// Returns the validated host and port, as transports need them for their `serverAddress`.
  ///
  /// - Throws: ``ConnectionError``: code `unsupported` for a Unix socket, a URL or a service; `invalid_option` for an
  ///   invalid host and for port 0.
  public func serverAddress() throws(ConnectionError) -> (host: String, port: Int) {
    guard case .hostPort(let host, let port) = self else {
      throw .transport(
        .refused(
          .unsupported, "transports do not connect to \(self)",
          hint: "use .hostPort with an IPv4 address, an IPv6 address or a name"))
    }
    return (try Self.checked(host), try Self.checked(Int(port.rawValue)))
  }

  /// Returns the host and port to dial, also for a URL.
  func address() throws(ConnectionError) -> (host: String, port: Int) {
    guard case .url(let url) = self else { return try serverAddress() }
    guard let host = url.host() else {
      throw .transport(.refused(.invalidURL, "the URL has no host", hint: "write SCHEME://HOST:PORT"))
    }
    let scheme = url.scheme?.lowercased() ?? ""
    guard let port = url.port ?? Self.ports[scheme] else {
      throw .transport(
        .refused(
          .invalidURL, "the scheme \"\(scheme.prefix(20))\" has no port of its own", hint: "write the port in the URL"))
    }
    return (try Self.checked(Host(host)), try Self.checked(port))
  }

  private static let ports = ["http": 80, "ws": 80, "https": 443, "wss": 443, "gemini": 1965]

  private static func checked(_ port: Int) throws(ConnectionError) -> Int {
    guard (1...65_535).contains(port) else { throw .transport(.portOutOfRange(port)) }
    return port
  }

  private static func checked(_ host: Host) throws(ConnectionError) -> String {
    guard case .name(let name) = host else { return host.description }
    do throws(ConfigurationError) {
      return try HostName(name).text
    } catch {
      throw .transport(.refused(.invalidOption, error.message, hint: error.hint))
    }
  }
}
