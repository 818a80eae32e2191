// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

/// A policy on the addresses that a service may connect to when it fetches URLs that its users supply.
///
/// The engine checks every address before it connects: each redirect hop, each retry, each stream and each datagram.
/// The check also applies if a request, a dial or a client has connection options of its own that do not set egress.
/// Options that do set it, such as ``unrestricted``, take precedence.
///
/// Connections opened under another policy are not reused. A denied request fails with stage `policy`, code
/// `egress_denied`, before a byte is sent, and is not retried. The time until that failure may reveal to the author of
/// the URL whether a name exists.
///
/// ```swift
/// var configuration = CurlConfiguration()
/// configuration.connection.egress = .publicInternet
/// try configuration.connection.egress.allow("10.20.0.0/16", ports: 443...443)
/// ```
///
/// A proxy resolves names itself, so the policy sees only the proxy's address; see ``trustsProxies``. A transport
/// layered over another, such as SOCKS 5 used as a dialer, is a proxy that only the caller knows about: the policy
/// checks its address, not the host behind it, and does not refuse it. Unix sockets are refused.
///
/// Start from ``publicInternet``: ``unrestricted`` denies nothing until ``deny(_:ports:)`` is called or ``ports`` is
/// set.
public struct EgressPolicy: Sendable, Hashable {
  var rules: EgressRules

  /// Allows public Internet hosts only. It denies loopback, private networks, link-local addresses (including cloud
  /// metadata services), multicast, all other special-purpose addresses (RFC 6890) and addresses that embed an IPv4
  /// address. The public addresses of this machine are allowed: call ``deny(_:ports:)`` for them.
  public static let publicInternet = Self(rules: EgressRules())

  /// Allows every address.
  public static let unrestricted: Self = {
    var rules = EgressRules()
    rules.allowsAllClasses = true
    return Self(rules: rules)
  }()

  /// The ports that may be connected to. Ranges that ``allow(_:ports:)`` named are exempt from this limit. Default
  /// `nil`: all ports.
  public var ports: Set<Int>? {
    get { rules.ports }
    set { rules.ports = newValue }
  }
  /// Whether an address that embeds an IPv4 address (NAT64, 6to4, Teredo, ISATAP) is judged by the embedded address;
  /// otherwise it is denied. Networks that reach IPv4 by NAT64 need this, because DNS64 returns such an address for
  /// every host. Default false.
  public var unwrapsEmbedded: Bool {
    get { rules.unwrapsEmbedded }
    set { rules.unwrapsEmbedded = newValue }
  }
  /// Whether the denied addresses of a host that also has allowed ones are skipped. Otherwise no further address is
  /// used after the first denied one; addresses are tried in turn, so an allowed address before it may still connect.
  /// Default false.
  public var skipsDeniedAddresses: Bool {
    get { rules.usesAllowedOfMixed }
    set { rules.usesAllowedOfMixed = newValue }
  }
  /// Whether requests through a proxy are sent, including one set in the environment, relying on the proxy's own
  /// policy; otherwise they are refused. The proxy's address is not checked. If a URL contains an address in its usual
  /// spelling, that address is checked; a name that `socks4` or `socks5` resolves locally is not. Default false.
  public var trustsProxies: Bool {
    get { rules.trustsProxies }
    set { rules.trustsProxies = newValue }
  }

  /// Allows a range of addresses, regardless of their class.
  ///
  /// - Parameters:
  ///   - range: an address, or a network such as `10.0.0.0/8` or `fd00::/8`, without brackets.
  ///   - ports: the ports for which the range is allowed. Default `nil`: all.
  /// - Throws: `ConfigurationError` for text that is not an address or network, and for ports outside 0…65535.
  public mutating func allow(_ range: String, ports: ClosedRange<Int>? = nil) throws(ConfigurationError) {
    rules.allowing.append(try AddressRange(range, ports: ports))
  }

  /// Denies a range of addresses, regardless of all other rules.
  ///
  /// - Parameters:
  ///   - range: an address or a network, as for ``allow(_:ports:)``.
  ///   - ports: the ports for which the range is denied. Default `nil`: all.
  /// - Throws: `ConfigurationError` for text that is not an address or network, and for ports outside 0…65535.
  public mutating func deny(_ range: String, ports: ClosedRange<Int>? = nil) throws(ConfigurationError) {
    rules.denying.append(try AddressRange(range, ports: ports))
  }

  /// Adds a prefix in which the local network embeds IPv4 addresses (RFC 6052). The policy judges the embedded address.
  ///
  /// - Parameter prefix: a network of IPv6 with a prefix of 32, 40, 48, 56, 64 or 96 bits, such as `2001:db8:64::/96`.
  /// - Throws: `ConfigurationError` for text that is not a network of IPv6, and for a prefix of another length.
  public mutating func addNAT64Prefix(_ prefix: String) throws(ConfigurationError) {
    let network = try AddressRange(prefix)
    guard !network.base.isIPv4, [32, 40, 48, 56, 64, 96].contains(network.bits) else {
      throw ConfigurationError(
        "the NAT64 prefix \(prefix) is not an IPv6 network of 32, 40, 48, 56, 64 or 96 bits",
        hint: "write it as in 2001:db8:64::/96")
    }
    rules.nat64Prefixes.append(network)
  }

  /// Returns the reason for which the policy denies an address.
  ///
  /// - Parameters:
  ///   - address: IPv4 in dotted decimal, or IPv6 with or without brackets; not a host name.
  ///   - port: the port to connect to.
  /// - Returns: a short reason such as `link-local`; `nil` if the address may be connected to.
  /// - Throws: `ConfigurationError` if `address` is not an IP address.
  public func denial(of address: String, port: Int) throws(ConfigurationError) -> String? {
    rules.denial(of: try IPAddress(text: address), port: port)?.reason
  }
}

extension ConnectionOptions {
  /// The policy on addresses that may be connected to. Default: the engine's policy for options of a request or a dial,
  /// else ``EgressPolicy/unrestricted``. An unset policy reads as ``EgressPolicy/unrestricted``.
  public var egress: EgressPolicy {
    get { reach.egress.map(EgressPolicy.init(rules:)) ?? .unrestricted }
    set { reach.egress = newValue.rules }
  }
}

extension IPAddress {
  /// - Throws: `ConfigurationError` if `text` is not an IP address.
  init(text: String) throws(ConfigurationError) {
    guard let name = try? HostName(text), let address = IPAddress(parsing: name.text) else {
      throw ConfigurationError(
        "\(String(text.prefix(100)).onOneLine) is not an IP address", hint: "write it as in 192.0.2.1 or 2001:db8::1")
    }
    self = address
  }
}
