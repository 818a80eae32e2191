// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// The choice of a request's proxy. Lastro makes it itself, because libcurl would read the environment for every
/// transfer, in a race with `setenv`.
struct ProxyResolver: Sendable {
  private let plain: String
  private let tls: String
  /// Whether plain `http` requests are sent to a proxy with their whole URLs.
  let mayForward: Bool
  private let bypass: BypassList

  /// The local machine: IPv4, IPv6, IPv4 within IPv6, and names (RFC 6761 §6.3).
  private static let loopback = ["localhost", "127.0.0.0/8", "::1", "::ffff:127.0.0.0/104"]

  init(_ options: ProxyOptions, environment: ProxyResolver) throws(TransportError) {
    switch options {
    case .none:
      self.init(plain: "", tls: "", bypass: [])
    case .url(let url, let bypass):
      try Self.check(url)
      self.init(plain: url, tls: url, bypass: bypass)
    case .environment:
      self = environment
    case .environmentBypassing(let bypass):
      self.init(plain: environment.plain, tls: environment.tls, bypass: bypass)
    }
  }

  /// Returns the proxies that the environment currently names.
  static func environment() -> Self { Self(environment: { name in getenv(name).map { String(cString: $0) } }) }

  init(environment: (String) -> String?) {
    func first(_ names: String...) -> String { names.lazy.compactMap(environment).first { !$0.isEmpty } ?? "" }
    let all = first("all_proxy", "ALL_PROXY")
    let plain = first("http_proxy")
    let tls = first("https_proxy", "HTTPS_PROXY")
    self.init(
      plain: plain.isEmpty ? all : plain, tls: tls.isEmpty ? all : tls,
      bypass: Self.loopback
        + [first("no_proxy", "NO_PROXY")])
  }

  private init(plain: String, tls: String, bypass: [String]) {
    self.plain = plain
    self.tls = tls
    mayForward = ForwardProxy.isForwarding(plain)
    self.bypass = BypassList(bypass)
  }

  /// Returns the proxy's URL; empty, as libcurl expects, if there is none.
  func proxy(isTLS: Bool, authority: String) -> String {
    let proxy = isTLS ? tls : plain
    if proxy.isEmpty || bypass.contains(authority: authority, defaultPort: isTLS ? 443 : 80) { return "" }
    return proxy
  }

  /// Returns the proxy that gets a plain `http` request with its whole URL; `nil` if there is none.
  func forwardProxy(for authority: String) -> String? {
    guard mayForward, !bypass.contains(authority: authority, defaultPort: 80) else { return nil }
    return plain
  }

  private static func check(_ url: String) throws(TransportError) {
    let scheme = url.contains("://") ? String(url.prefix { $0 != ":" }).lowercased() : "http"
    guard ["http", "https", "socks4", "socks4a", "socks5", "socks5h"].contains(scheme), !url.isEmpty,
      !url.utf8.contains(where: { $0.isControl || $0 == 0x20 })
    else {
      throw .refused(
        .invalidOption,
        "the proxy's URL is empty, has a blank, or none of the schemes http, https, socks4, socks4a, socks5, socks5h",
        hint: "write it as http://proxy.example:3128")
    }
  }
}

/// The hosts that are reached without a proxy, by the rules of `no_proxy`.
///
/// There is no standard. Entries are separated by commas and white space, as in Python's urllib and curl. A port after
/// an entry limits it to that port, as in Go. A name also matches the names below it.
struct BypassList: Sendable {
  private enum Subject: Sendable {
    case all
    /// The name itself and everything below it.
    case name(String)
    case network(IPAddress, prefix: Int)
  }

  private struct Rule: Sendable {
    var subject: Subject
    /// The only port that the rule applies to; nil for every port.
    var port: Int?
  }

  private let rules: [Rule]

  /// Creates a list.
  ///
  /// - Parameter entries: the entries, each with one or more rules.
  init(_ entries: [String]) {
    rules = entries.flatMap { $0.lowercased().split { $0 == "," || $0.isWhitespace } }.compactMap(Self.rule)
  }

  /// Returns whether a host is reached without a proxy.
  ///
  /// - Parameter defaultPort: the port of an authority that names none.
  func contains(authority: String, defaultPort: Int) -> Bool {
    if rules.isEmpty { return false }
    let (host, port) = Self.parts(of: authority.lowercased())
    let address = IPAddress(parsing: host)
    return rules.contains { rule in
      if let only = rule.port, only != port ?? defaultPort { return false }
      return switch rule.subject {
      case .all: true
      case .name(let name): address == nil && (host == name || host.hasSuffix("." + name))
      case .network(let network, let prefix): address?.shares(prefix, with: network) == true
      }
    }
  }

  private static func rule(_ entry: Substring) -> Rule? {
    let text = String(entry)
    if text == "*" { return Rule(subject: .all) }
    // Check this before looking for a port, because an IPv6 address contains colons.
    if let network = network(text) { return Rule(subject: network) }
    let (host, port) = parts(of: text)
    if host == "*" { return Rule(subject: .all, port: port) }
    if let address = IPAddress(parsing: host) {
      return Rule(subject: .network(address, prefix: address.width), port: port)
    }
    var name = Substring(host)
    if name.hasPrefix("*.") { name = name.dropFirst() }
    while name.hasPrefix(".") { name = name.dropFirst() }
    while name.hasSuffix(".") { name = name.dropLast() }
    return name.isEmpty ? nil : Rule(subject: .name(String(name)), port: port)
  }

  /// Returns the host of an authority, without brackets or a final dot, and the port, if there is one. A text with a
  /// colon that no port follows is returned whole: it is not a host.
  private static func parts(of authority: String) -> (host: String, port: Int?) {
    var host = Substring(authority)
    var port: Int?
    if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]"),
      let number = UInt16(digits: host[host.index(after: colon)...])
    {
      port = Int(number)
      host = host[..<colon]
    }
    if host.hasSuffix("."), host.count > 1 { host = host.dropLast() }
    return (String(host).unbracketedHost, port)
  }

  private static func network(_ text: String) -> Subject? {
    let parts = text.split(separator: "/", maxSplits: 1)
    guard let first = parts.first, let base = IPAddress(parsing: String(first).unbracketedHost) else { return nil }
    guard parts.count == 2 else { return .network(base, prefix: base.width) }
    guard let prefix = Int(digits: parts[1]), (0...base.width).contains(prefix) else { return nil }
    return .network(base, prefix: prefix)
  }
}
