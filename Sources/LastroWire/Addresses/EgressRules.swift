// SPDX-License-Identifier: Apache-2.0

/// To which addresses connections may be made. The decision is about the address that is connected to, not about a
/// name: a look-up of one's own is another one than that which connects.
package struct EgressRules: Sendable, Hashable {
  /// Why an address is denied.
  package enum Denial: Sendable, Hashable {
    case addressClass(AddressClass)
    /// An address within one that embeds it.
    case embedded(AddressClass)
    case range
    case port
    /// What is connected to is no address that can be judged.
    case unreadable
  }

  /// Whether addresses of any class may be connected to. Default false.
  package var allowsAllClasses = false
  /// What is allowed whatever its class.
  package var allowing: [AddressRange] = []
  /// What is denied, whatever else is said, also where another address leads to it.
  package var denying: [AddressRange] = []
  /// The ports that may be connected to; `nil`: all.
  package var ports: Set<Int>?
  /// Whether an address that embeds an IPv4 one is judged by that; else it is denied.
  package var unwrapsEmbedded = false
  /// Prefixes of 32, 40, 48, 56, 64 or 96 bits behind which the own network embeds IPv4 addresses (RFC 6052).
  package var nat64Prefixes: [AddressRange] = []
  /// Whether a host of which one address is denied may be reached at another.
  package var usesAllowedOfMixed = false
  /// Whether proxies connect in our stead, and are trusted to choose well.
  package var trustsProxies = false

  package init() {}

  /// Whether nothing is denied.
  package var isUnrestricted: Bool {
    allowsAllClasses && denying.isEmpty && ports == nil && nat64Prefixes.isEmpty
  }

  /// Why an address must not be connected to; `nil` where it may. Allocates nothing but for embedded addresses.
  package func denial(of address: IPAddress, port: Int) -> Denial? {
    let address = address.unmapped
    if denying.contains(where: { $0.contains(address, port: port) }) { return .range }
    let prefix = nat64Prefixes.first { $0.contains(address, port: port) }
    let inner = prefix.flatMap { address.embedded(behind: $0.bits) }
    // Behind a prefix of another length stands no address that could be judged.
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

  /// All of them must be allowed.
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
  /// In a few words, without the address.
  package var reason: String {
    switch self {
    case .addressClass(let kind): kind.rawValue
    case .embedded(let kind): "\(kind.rawValue), embedded"
    case .range: "denied by EgressPolicy.denying"
    case .port: "not among EgressPolicy.ports"
    case .unreadable: "no IPv4 or IPv6 address"
    }
  }
}
