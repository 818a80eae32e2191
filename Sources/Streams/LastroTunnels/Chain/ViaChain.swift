// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro

/// A path to a host through a sequence of tunnels, the nearest first, as in `--via`.
///
/// ```swift
/// let chain = try ViaChain(["socks5://127.0.0.1:9050", "http://ann:secret@proxy.example:3128"])
/// ```
///
/// | Written | Tunnel |
/// | --- | --- |
/// | `socks5://[USER:PASSWORD@]HOST[:PORT]` | SOCKS 5; port 1080 by default. Names go to the proxy, always |
/// | `socks5h://…` | the same, in curl's notation |
/// | `http://[USER:PASSWORD@]HOST:PORT` | HTTP CONNECT |
/// | `https://[USER:PASSWORD@]HOST[:PORT]` | the same with TLS to the proxy; port 443 by default |
/// | `meek:URL[?front=HOST[:PORT]]` | meek: `URL` is the meek server's, `front` is contacted instead |
/// | `obfs4:HOST:PORT?cert=CERT[&iat-mode=0\|1\|2]`, or a bridge line | obfs4, see below |
/// | `ss://USER@HOST:PORT[/][?QUERY][#NAME]` | Shadowsocks, see below |
///
/// Percent-encoding in the user and password of proxies is decoded; write `%40` for `@`, `%3A` for `:` in the user,
/// `%2F` for `/`. All other items in the query of a meek URL are preserved. Descriptions contain no password.
///
/// obfs4 has two forms. The items `node-id` and `public-key`, as published by old servers, may replace `cert`. The
/// default of `iat-mode` is 0.
///
/// - `obfs4:HOST:PORT?cert=CERT[&iat-mode=0|1|2]`: items in any order, each once, separated by `&` or `;`; IPv6 in
///   brackets. `%2B`, `%2F` and `%3D` in a value are decoded to `+`, `/` and `=`; `+` is not decoded.
/// - `[Bridge ]obfs4 HOST:PORT [FINGERPRINT] cert=CERT [iat-mode=…]`, the line of Tor's configuration: the fingerprint,
///   40 hexadecimal digits, and unknown items are ignored.
///
/// `USER` of a Shadowsocks URI (SIP002) is `METHOD:PASSWORD`, in base64 (standard or URL-safe alphabet, with or without
/// padding) or percent-encoded, split at the first colon. The query and the name are ignored, except that `plugin` is
/// refused, because a server cannot be reached without its plugin. So are stream ciphers, and the methods of 2022
/// (SIP022).
public struct ViaChain: Sendable, Hashable, CustomStringConvertible {
  /// A tunnel of a chain.
  package enum Hop: Sendable, Hashable, CustomStringConvertible {
    /// A SOCKS 5 proxy.
    case socks5(ProxyServer)
    /// An HTTP proxy with CONNECT.
    case httpConnect(ProxyServer, isTLS: Bool)
    /// A meek server.
    case meek(MeekServer)
    /// An obfs4 server.
    case obfs4(WispServer)
    /// A Shadowsocks server.
    case shadowsocks(ShadowsocksServer)

    /// The hop in its text form, without the password.
    package var description: String {
      switch self {
      case .socks5(let proxy): "socks5://\(proxy)"
      case .httpConnect(let proxy, let isTLS): "\(isTLS ? "https" : "http")://\(proxy)"
      case .meek(let server): "meek:\(server)"
      case .obfs4(let server): "\(server)"
      case .shadowsocks(let server): "\(server)"
      }
    }

    /// Parses a hop.
    ///
    /// - Throws: `ConfigurationError` for any other form than those above. Its message contains no part of the text
    ///   except the scheme.
    package init(_ text: String) throws(ConfigurationError) { self = try ViaReader.hop(text) }
  }

  /// The tunnels, starting with the one nearest to this machine.
  package var hops: [Hop]

  /// Creates a chain; without hops, it is a direct path.
  package init(hops: [Hop] = []) { self.hops = hops }

  /// Parses a chain.
  ///
  /// - Throws: `ConfigurationError` with the number of the hop. It contains no password, and no part of a
  ///   certificate.
  public init(_ texts: [String]) throws(ConfigurationError) {
    hops = []
    for (index, text) in texts.enumerated() {
      do throws(ConfigurationError) {
        hops.append(try Hop(text))
      } catch {
        throw ConfigurationError("hop \(index + 1) of the chain: \(error.message)", hint: error.hint)
      }
    }
  }

  /// The hops separated by arrows, without passwords.
  public var description: String { hops.isEmpty ? "straight" : hops.map(\.description).joined(separator: " → ") }

  /// Creates the dialer for this chain.
  ///
  /// - Parameters:
  ///   - base: the dialer that reaches the first hop. It must support TLS.
  ///   - secure: puts TLS over a dialer, like `addingTLS(connection:)` of `LastroCurl`.
  /// - Throws: `ConfigurationError` for credentials that a tunnel cannot carry.
  public func dialer(
    over base: any Dialer, securing secure: (any Dialer) -> any Dialer
  ) throws(ConfigurationError) -> any Dialer {
    var dialer = base
    for hop in hops {
      let transport: any Dialer
      switch hop {
      case .socks5(let proxy): transport = try SOCKS5Dialer(proxy: proxy, over: dialer)
      case .httpConnect(let proxy, let isTLS):
        transport = try HTTPConnectDialer(
          proxy: proxy, tls: isTLS ? DialRequest.TLS(applicationProtocols: ["http/1.1"]) : nil, over: dialer)
      case .meek(let server): transport = MeekDialer(server, over: dialer)
      case .obfs4(let server): transport = WispDialer(server, over: dialer)
      case .shadowsocks(let server): transport = ShadowsocksDialer(server, over: dialer)
      }
      dialer = secure(transport)
    }
    return dialer
  }
}

/// A parser for the texts of hops.
private enum ViaReader {
  private static let forms =
    "write socks5://HOST:PORT, http://HOST:PORT, https://HOST:PORT, meek:URL?front=HOST, "
    + "obfs4:HOST:PORT?cert=CERT or ss://USER@HOST:PORT; user and password as in socks5://USER:PASSWORD@HOST:PORT"

  static func hop(_ text: String) throws(ConfigurationError) -> ViaChain.Hop {
    if WispServer.isWritten(text) { return .obfs4(try WispServer(text)) }
    if ShadowsocksServer.isWritten(text) { return .shadowsocks(try ShadowsocksServer(text)) }
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      throw ConfigurationError("the text has no scheme", hint: forms)
    }
    let scheme = text[..<colon].lowercased(), rest = text[text.utf8.index(after: colon)...]
    switch scheme {
    case "socks5", "socks5h":
      let proxy = try proxy(rest, defaultPort: 1080)
      _ = try SOCKS5Dialer(proxy: proxy, over: NowhereDialer())
      return .socks5(proxy)
    case "http", "https":
      let proxy = try proxy(rest, defaultPort: scheme == "https" ? 443 : nil)
      _ = try HTTPConnectDialer(proxy: proxy, over: NowhereDialer())
      return .httpConnect(proxy, isTLS: scheme == "https")
    case "meek": return .meek(try meek(rest))
    default:
      let isWord = scheme.utf8.allSatisfy { (97...122).contains($0) || $0.isDigit } && scheme.utf8.count <= 20
      throw ConfigurationError(isWord ? "the scheme \"\(scheme)\" is unknown" : "the text has no scheme", hint: forms)
    }
  }

  private static func proxy(_ text: Substring, defaultPort: Int?) throws(ConfigurationError) -> ProxyServer {
    guard text.utf8.starts(with: "//".utf8) else {
      throw ConfigurationError("the scheme has no // after it", hint: forms)
    }
    var rest = text.dropFirst(2)
    if rest.utf8.last == UInt8(ascii: "/") { rest = rest.dropLast() }
    guard !rest.utf8.contains(where: { [0x2F, 0x3F, 0x23].contains($0) }) else {
      throw ConfigurationError(
        "the proxy's URL has a path or a query", hint: "leave it out; write / ? # in user or password as %2F %3F %23")
    }
    var credentials: ProxyServer.Credentials?
    if let at = rest.utf8.lastIndex(of: UInt8(ascii: "@")) {
      credentials = try Self.credentials(rest[..<at])
      rest = rest[rest.utf8.index(after: at)...]
    }
    let authority: Authority
    do throws(TransportError) {
      authority = try Authority(rest)
    } catch {
      throw ConfigurationError("cannot parse \"\(shown(rest))\": \(error.message)", hint: error.hint ?? forms)
    }
    guard let port = authority.port ?? defaultPort else {
      throw ConfigurationError("the proxy has no port", hint: "write http://HOST:PORT: HTTP proxies have no usual port")
    }
    return try ProxyServer(host: authority.host, port: port, credentials: credentials)
  }

  /// Returns host and port for an error text. Text in place of the port may be a password without a host, so it is
  /// masked.
  private static func shown(_ text: Substring) -> String {
    let isPlain =
      text.utf8.first == UInt8(ascii: "[")
      || text.split(separator: ":", maxSplits: 1).dropFirst().allSatisfy {
        $0.utf8.count <= 5 && $0.utf8.allSatisfy(\.isDigit)
      }
    let shown = isPlain ? String(text) : text.prefix { $0 != ":" } + ":" + Redaction.mask
    return shown.onOneLine.cut(to: 80)
  }

  private static func credentials(_ text: Substring) throws(ConfigurationError) -> ProxyServer.Credentials {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    func decoded(_ part: Substring) throws(ConfigurationError) -> String {
      guard let bytes = part.percentDecodedBytes, let text = String(validating: bytes, as: UTF8.self) else {
        throw ConfigurationError("the percent-encoding in user or password is not valid", hint: "write % itself as %25")
      }
      return text
    }
    return ProxyServer.Credentials(
      user: try decoded(parts[0]), password: Secret(parts.count > 1 ? try decoded(parts[1]) : ""))
  }

  private static func meek(_ text: Substring) throws(ConfigurationError) -> MeekServer {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var items = parts.count > 1 ? parts[1].split(separator: "&", omittingEmptySubsequences: false) : []
    let fronts = items.filter { $0.hasPrefix("front=") }
    items.removeAll { $0.hasPrefix("front=") }
    guard fronts.count < 2 else {
      throw ConfigurationError("the meek URL has \(fronts.count) fronts", hint: "name one")
    }
    guard let server = URL(string: String(parts[0]) + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))),
      let scheme = server.scheme
    else { throw ConfigurationError("the text after meek: is not a URL", hint: forms) }
    guard let front = fronts.first?.dropFirst("front=".count) else { return try MeekServer(server) }
    guard !front.utf8.contains(UInt8(ascii: "/")), let contact = URL(string: "\(scheme)://\(front)") else {
      throw ConfigurationError("the front is not a host", hint: "write front=HOST or front=HOST:PORT")
    }
    return try MeekServer(to: contact, serverURL: server)
  }
}
