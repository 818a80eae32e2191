// SPDX-License-Identifier: Apache-2.0

/// The addresses that connections may be made to. The rules check the address that is actually connected to, not a
/// name: a separate look-up could return a different address.
package struct EgressRules: Sendable, Hashable {
  /// The reason why an address is denied.
  package enum Denial: Sendable, Hashable {
    case addressClass(AddressClass)
    /// An address is embedded in another one.
    case embedded(AddressClass)
    case range
    case port
    /// The peer's address is not an IP address and cannot be checked.
    case unreadable
  }

  /// Whether addresses of any class may be connected to. Default false.
  package var allowsAllClasses = false
  /// The ranges that are allowed regardless of their class.
  package var allowing: [AddressRange] = []
  /// The ranges that are always denied, also when they are embedded in another address.
  package var denying: [AddressRange] = []
  /// The ports that may be connected to; `nil` for all.
  package var ports: Set<Int>?
  /// Whether an address that embeds an IPv4 address is judged by the latter. Otherwise it is denied.
  package var unwrapsEmbedded = false
  /// The NAT64 prefixes of the local network, with 32, 40, 48, 56, 64 or 96 bits (RFC 6052).
  package var nat64Prefixes: [AddressRange] = []
  /// Whether a host may be reached at its allowed addresses if others of its addresses are denied.
  package var usesAllowedOfMixed = false
  /// Whether proxies are trusted to connect only to allowed addresses on our behalf.
  package var trustsProxies = false

  package init() {}

  /// Whether no address is denied.
  package var isUnrestricted: Bool {
    allowsAllClasses && denying.isEmpty && ports == nil && nat64Prefixes.isEmpty
  }

  /// Returns the reason why an address must not be connected to; `nil` if it may. It allocates only for embedded
  /// addresses.
  package func denial(of address: IPAddress, port: Int) -> Denial? {
    let address = address.unmapped
    if denying.contains(where: { $0.contains(address, port: port) }) { return .range }
    let prefix = nat64Prefixes.first { $0.contains(address, port: port) }
    let inner = prefix.flatMap { address.embedded(behind: $0.bits) }
    // A prefix of any other length embeds no address that could be checked.
    if prefix != nil, inner == nil { return .range }
    if isDenied(inner.map { [$0] } ?? AddressClass(address).embedded(in: address), port) { return .range }
    if allowing.contains(where: { $0.contains(address, port: port) }) { return nil }
    if let ports, !ports.contains(port) { return .port }
    if allowsAllClasses { return nil }
    if let inner { return denial(of: [inner], port: port) }
    let kind = AddressClass(address)
    if kind == .global { return nil }
    guard unwrapsEmbedded, kind.embedsIPv4 else { return .addressClass(kind) }
    return denial(of: kind.embedded(in: address), port: port)
  }

  private func isDenied(_ embedded: [UInt32], _ port: Int) -> Bool {
    embedded.contains { inner in denying.contains { $0.contains(IPAddress(ipv4: inner), port: port) } }
  }

  /// Returns the reason of the first denied address; `nil` if all are allowed.
  private func denial(of embedded: [UInt32], port: Int) -> Denial? {
    for inner in embedded {
      switch denial(of: IPAddress(ipv4: inner), port: port) {
      case nil: continue
      case .addressClass(let kind): return .embedded(kind)
      case let other?: return other
      }
    }
    return nil
  }
}

extension EgressRules.Denial {
  /// A short description, without the address.
  package var reason: String {
    switch self {
    case .addressClass(let kind): kind.rawValue
    case .embedded(let kind): "\(kind.rawValue), embedded"
    case .range: "denied by EgressPolicy.deny"
    case .port: "not among EgressPolicy.ports"
    case .unreadable: "no IPv4 or IPv6 address"
    }
  }
}
