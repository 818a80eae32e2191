// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// To which addresses a service may connect that fetches the URLs of its users: the decision about one address.
///
/// The engine asks it for every address that it is about to connect to: of every hop of a redirect, every retry, and
/// every stream and datagram, also where a request, a dial or a client brings options of its own that say nothing of
/// egress. Those that do, such as ``unrestricted``, are believed.
///
/// No connection of another policy is used. What is denied fails with stage `policy`, code `egress_denied`, before a
/// byte is sent, and is not tried again. How long that takes may tell who chose the URL whether a name exists.
///
/// ```swift
/// var configuration = CurlConfiguration()
/// configuration.connection.egress = .publicInternet
/// configuration.connection.egress.allowing = [try EgressRange("10.20.0.0/16", ports: 443...443)]
/// ```
///
/// A proxy resolves names itself, so that its address alone is seen: ``proxies``. A transport around another, such as
/// SOCKS 5 as a dialer, is a proxy that only the caller knows of: the policy judges its address, not the host behind,
/// and does not refuse it. Unix sockets are refused.
///
/// Begin with ``publicInternet``: ``unrestricted`` denies nothing until ``denying`` or ``ports`` are set.
public struct EgressPolicy: Sendable, Hashable {
  var rules: EgressRules

  /// Hosts of the Internet alone: not loopback, private networks, link-local addresses (which have the metadata of
  /// clouds), multicast and what else the registries of special-purpose addresses have (RFC 6890); nor addresses that
  /// embed an IPv4 one. Public addresses of this machine are allowed: write them into ``denying``.
  public static let publicInternet = Self(rules: EgressRules())

  /// Every address.
  public static let unrestricted: Self = {
    var rules = EgressRules()
    rules.allowsAllClasses = true
    return Self(rules: rules)
  }()

  /// What is allowed, whatever its class. Default none.
  public var allowing: [EgressRange] {
    get { rules.allowing.map(EgressRange.init(range:)) }
    set { rules.allowing = newValue.map(\.range) }
  }
  /// What is denied, whatever else is said. Default none.
  public var denying: [EgressRange] {
    get { rules.denying.map(EgressRange.init(range:)) }
    set { rules.denying = newValue.map(\.range) }
  }
  /// The ports that may be connected to; what ``allowing`` has may be connected to at any. Default `nil`: all.
  public var ports: Set<Int>? {
    get { rules.ports }
    set { rules.ports = newValue }
  }
  /// Whether an address that embeds an IPv4 one (NAT64, 6to4, Teredo, ISATAP) is judged by that; else it is denied.
  /// Needed where the network reaches IPv4 by NAT64 (DNS64 gives such an address to every host). Default false.
  public var unwrapsEmbedded: Bool {
    get { rules.unwrapsEmbedded }
    set { rules.unwrapsEmbedded = newValue }
  }
  /// Prefixes behind which the own network embeds IPv4 addresses (RFC 6052), of 32, 40, 48, 56, 64 or 96 bits. What
  /// stands behind them is judged. Default none.
  public var nat64Prefixes: [EgressRange] {
    get { rules.nat64Prefixes.map(EgressRange.init(range:)) }
    set { rules.nat64Prefixes = newValue.map(\.range) }
  }

  /// What becomes of a host that has allowed and denied addresses. Default ``MixedAnswers/refuse``.
  public var mixedAnswers: MixedAnswers {
    get { rules.usesAllowedOfMixed ? .useAllowed : .refuse }
    set { rules.usesAllowedOfMixed = newValue == .useAllowed }
  }
  /// What becomes of requests that go through a proxy, also one of the environment. Default ``ProxyRule/refuse``.
  public var proxies: ProxyRule {
    get { rules.trustsProxies ? .trust : .refuse }
    set { rules.trustsProxies = newValue == .trust }
  }

  /// What becomes of a host that has allowed and denied addresses.
  public enum MixedAnswers: Sendable, Hashable {
    /// Once a denied address was met no other is used. One that connects before is: addresses are met in turn.
    case refuse
    /// Denied addresses are passed over.
    case useAllowed
  }

  /// What becomes of requests that go through a proxy.
  public enum ProxyRule: Sendable, Hashable {
    /// They are refused.
    case refuse
    /// They are sent, for the proxy has a policy of its own. Its address is not judged; a URL's that has one is, in
    /// its usual spelling. A name that `socks4` or `socks5` resolves on this side is not.
    case trust
  }

  /// What the policy says of an address.
  ///
  /// - Parameters:
  ///   - address: IPv4 in dotted decimal, or IPv6 with or without brackets; no name.
  ///   - port: the port to be connected to.
  /// - Throws: `ConfigurationError` for what is no address.
  public func verdict(on address: String, port: Int) throws(ConfigurationError) -> EgressVerdict {
    rules.denial(of: try IPAddress(text: address), port: port).map { .denied($0.reason) } ?? .allowed
  }
}

extension ConnectionOptions {
  /// To which addresses connections may be made. Default: the engine's for options that a request or a dial brings,
  /// else ``EgressPolicy/unrestricted``, which is what it reads as.
  public var egress: EgressPolicy {
    get { reach.egress.map(EgressPolicy.init(rules:)) ?? .unrestricted }
    set { reach.egress = newValue.rules }
  }
}

/// What an ``EgressPolicy`` says of an address.
public enum EgressVerdict: Sendable, Hashable {
  /// It may be connected to.
  case allowed
  /// It may not, for a reason of a few words, such as `link-local`.
  case denied(String)
}

/// Addresses that begin with the same bits, and perhaps some of their ports alone.
public struct EgressRange: Sendable, Hashable {
  let range: AddressRange

  init(range: AddressRange) { self.range = range }

  /// Reads an address, or a network such as `10.0.0.0/8` or `fd00::/8`.
  ///
  /// - Parameters:
  ///   - text: without brackets.
  ///   - ports: the ports that are meant. Default `nil`: all.
  /// - Throws: `ConfigurationError` for what is no address or network, and ports outside 0…65535.
  public init(_ text: String, ports: ClosedRange<Int>? = nil) throws(ConfigurationError) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let base = try IPAddress(text: parts.first.map(String.init) ?? "")
    var bits = base.width
    if parts.count == 2 {
      guard let number = Int(parts[1]), (0...base.width).contains(number) else {
        throw ConfigurationError(
          "the network \(text) has a prefix outside of 0…\(base.width)", hint: "write it as in 10.0.0.0/8")
      }
      bits = number
    }
    if let ports, ports.lowerBound < 0 || ports.upperBound > 65_535 {
      throw ConfigurationError(
        "the ports \(ports.lowerBound)…\(ports.upperBound) are outside of 0…65535", hint: "give ports of TCP")
    }
    range = AddressRange(base: base, bits: bits, ports: ports)
  }
}

extension IPAddress {
  /// - Throws: `ConfigurationError` for what is no address.
  init(text: String) throws(ConfigurationError) {
    guard let name = try? HostName(text), let address = Self.read(name.text) else {
      throw ConfigurationError(
        "\(String(text.prefix(100)).onOneLine) is not an IP address", hint: "write it as in 192.0.2.1 or 2001:db8::1")
    }
    self = address
  }

  private static func read(_ text: String) -> IPAddress? {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET, text, &bytes) == 1 { return IPAddress(bytes.prefix(4)) }
    return inet_pton(AF_INET6, text, &bytes) == 1 ? IPAddress(bytes) : nil
  }
}
