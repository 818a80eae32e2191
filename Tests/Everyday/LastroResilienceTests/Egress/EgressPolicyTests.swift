// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire
import Testing

@testable import LastroResilience

@Suite("Egress policy")
struct EgressPolicyTests {
  private static func verdict(_ address: String, _ policy: EgressPolicy = .publicInternet, port: Int = 443) throws
    -> String
  {
    try policy.denial(of: address, port: port) ?? "allowed"
  }

  /// The first and last addresses of every class, and their neighbours. They were written by hand from IANA's
  /// registries of special-purpose addresses (IPv4 and IPv6) and of multicast, and from the documentation of clouds.
  private static let rows: [(String, String)] = [
    ("this network", "0.0.0.0 0.255.255.255"),
    (
      "private",
      """
      10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 ::ffff:10.0.0.1 \
      ::ffff:192.168.1.1
      """
    ),
    ("shared", "100.64.0.0 100.100.100.200 100.127.255.255"),
    ("loopback", "127.0.0.0 127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1"),
    (
      "link-local",
      """
      169.254.0.0 169.254.169.254 169.254.255.255 fe80:: fe80::1 febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff \
      ::ffff:169.254.169.254
      """
    ),
    (
      "protocol assignments",
      """
      192.0.0.0 192.0.0.9 192.0.0.10 192.0.0.192 192.0.0.255 2001:1::1 2001:2:: 2001:3::1 2001:4:112::1 \
      2001:20::1 2001:30::1 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff
      """
    ),
    (
      "documentation",
      """
      192.0.2.0 192.0.2.255 198.51.100.0 198.51.100.255 203.0.113.0 203.0.113.255 2001:db8::1 \
      2001:db8:ffff:ffff:ffff:ffff:ffff:ffff 3fff::1 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff
      """
    ),
    ("benchmarking", "198.18.0.0 198.18.0.1 198.19.255.255"),
    (
      "relays",
      """
      192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255 192.88.99.0 192.88.99.255 192.175.48.0 \
      192.175.48.255 2620:4f:8000:: 2620:4f:8000:ffff:ffff:ffff:ffff:ffff
      """
    ),
    ("multicast", "224.0.0.0 239.255.255.255 ff00:: ff02::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("reserved", "240.0.0.0 255.255.255.254"),
    ("broadcast", "255.255.255.255 ::ffff:255.255.255.255"),
    ("platform", "168.63.129.16 ::ffff:168.63.129.16"),
    ("unspecified", "::"),
    ("site-local", "fec0:: feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("unique local", "fc00:: fd00:ec2::254 fd20:ce::254 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("discard-only", "100:: 100::ffff:ffff:ffff:ffff 100:0:0:1::1"),
    ("segment routing", "5f00::1 5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("unassigned", "4000::1 1fff::1 200::1 8000::1 ::ffff:0:7f00:1 5eff::1 fbff::1"),
    ("IPv4-compatible", "::7f00:1 ::8.8.8.8 ::2"),
    ("NAT64", "64:ff9b::10.0.0.1 64:ff9b::8.8.8.8"),
    ("local NAT64", "64:ff9b:1::1 64:ff9b:1:ffff::8.8.8.8"),
    ("6to4", "2002:7f00:1:: 2002:808:808::1 2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("Teredo", "2001:0:c000:201::f5ff:fffe 2001::1"),
    ("ISATAP", "2a00:1450::5efe:127.0.0.1 2a00:1450::200:5efe:10.0.0.1"),
    (
      "allowed",
      """
      1.0.0.0 1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.0 \
      168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.1 191.255.255.255 \
      192.0.1.1 192.0.3.0 192.31.195.255 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 \
      198.17.255.255 198.20.0.1 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 \
      2606:4700::1111 2a00:1450::1 2400:cb00::1 2001:200::1 2001:db7:ffff::1 2001:db9::1 2003::1 \
      2620:4f:7fff::1 2620:4f:8001::1 3ffe::1 3fff:1000::1 2000::1 ::ffff:8.8.8.8 2a00:1450::5eff:0:1
      """
    ),
  ]

  @Test("Every address class is recognised at both ends, and addresses beside it are not")
  func classes() throws {
    for (expected, addresses) in Self.rows {
      for address in addresses.split(separator: " ").map(String.init) {
        #expect(try Self.verdict(address) == expected, "\(address)")
      }
    }
    let seen = Set(Self.rows.map(\.0))
    for kind in AddressClass.allCases where kind != .global { #expect(seen.contains(kind.rawValue), "\(kind)") }
  }

  @Test("All embedded addresses are checked if configured")
  func embedded() throws {
    var policy = EgressPolicy.publicInternet
    policy.unwrapsEmbedded = true
    let rows = [
      ("64:ff9b::8.8.8.8", "allowed"), ("64:ff9b::10.0.0.1", "private, embedded"),
      ("64:ff9b:1:808:8:800::", "allowed"), ("64:ff9b:1:a00:0:100::", "private, embedded"),
      ("64:ff9b:1:808::a00:1", "private, embedded"), ("64:ff9b:1:808::808:808", "allowed"),
      ("2002:808:808::1", "allowed"), ("2002:7f00:1::", "loopback, embedded"),
      ("2001:0:808:808::f7f7:f7f7", "allowed"), ("2001:0:808:808::f5ff:fffe", "private, embedded"),
      ("2001:0:a00:1::f7f7:f7f7", "private, embedded"), ("2a00:1450::5efe:8.8.8.8", "allowed"),
      ("2a00:1450::5efe:127.0.0.1", "loopback, embedded"), ("::8.8.8.8", "allowed"), ("::2", "this network, embedded"),
      ("fe80::1", "link-local"),
    ]
    for (address, expected) in rows { #expect(try Self.verdict(address, policy) == expected, "\(address)") }
  }

  @Test("Custom translation prefixes of every length of RFC 6052 are supported")
  func prefixes() throws {
    // The examples of §2.4 of the RFC: 192.0.2.33 in prefixes of 2001:db8:….
    let examples = [
      ("2001:db8::/32", "2001:db8:c000:221::"), ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
      ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"), ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
      ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
      ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
    ]
    for (prefix, address) in examples {
      var policy = EgressPolicy.publicInternet
      try policy.addNAT64Prefix(prefix)
      #expect(try Self.verdict(address, policy) == "documentation, embedded", "\(prefix)")
      try policy.allow("192.0.2.33")
      #expect(try Self.verdict(address, policy) == "allowed", "\(prefix)")
    }
  }

  @Test(
    "A translation prefix of another length, or of IPv4, is refused",
    arguments: ["2001:db8::/95", "2001:db8::1", "10.0.0.0/8", "64.0.0.0/32", "nat64"])
  func otherPrefixes(prefix: String) {
    var policy = EgressPolicy.publicInternet
    #expect(throws: ConfigurationError.self) { try policy.addNAT64Prefix(prefix) }
    #expect(policy == .publicInternet)
  }

  @Test("The length of a prefix is a number without a sign")
  func signs() throws {
    #expect(throws: Never.self) { try AddressRange("10.0.0.0/8") }
    for text in ["10.0.0.0/+8", "10.0.0.0/-8", "10.0.0.0/-0", "fd00::/+8", "10.0.0.0/"] {
      #expect(throws: ConfigurationError.self, "\(text)") { try AddressRange(text) }
    }
  }

  @Test("A denial also applies to addresses embedded in others and to ranges written as IPv6")
  func denied() throws {
    for var policy in [EgressPolicy.publicInternet, .unrestricted] {
      for range in ["169.254.0.0/16", "::ffff:203.0.114.7"] { try policy.deny(range) }
      for range in ["64:ff9b::/96", "2002::/16"] { try policy.allow(range) }
      policy.rules.nat64Prefixes = [try AddressRange("2a00:64::/96"), try AddressRange("2a00:65::/95")]
      for address in [
        "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "2a00:64::a9fe:a9fe", "2a00:65::808:808", "203.0.114.7",
        "::ffff:203.0.114.7",
      ] { #expect(try Self.verdict(address, policy) == "denied by EgressPolicy.deny", "\(address)") }
      for address in ["64:ff9b::808:808", "2a00:64::808:808", "203.0.115.7"] {
        #expect(try Self.verdict(address, policy) == "allowed", "\(address)")
      }
    }
  }

  @Test("Explicit denials take precedence over explicit permissions, and those over classes and ports")
  func order() throws {
    var policy = EgressPolicy.publicInternet
    try policy.allow("10.0.0.0/8", ports: 443...443)
    try policy.allow("fd00::/8")
    try policy.deny("10.1.0.0/16")
    try policy.deny("8.8.8.8")
    #expect(try Self.verdict("10.0.0.1", policy) == "allowed")
    #expect(try Self.verdict("::ffff:10.0.0.1", policy) == "allowed")
    #expect(try Self.verdict("10.0.0.1", policy, port: 80) == "private")
    #expect(try Self.verdict("10.1.0.1", policy) == "denied by EgressPolicy.deny")
    #expect(try Self.verdict("8.8.8.8", policy) == "denied by EgressPolicy.deny")
    #expect(try Self.verdict("fd00::1", policy) == "allowed")
    policy.ports = [443]
    #expect(try Self.verdict("1.1.1.1", policy, port: 25) == "not among EgressPolicy.ports")
    #expect(try Self.verdict("fd00::1", policy, port: 25) == "allowed")
    var open = EgressPolicy.unrestricted
    #expect(try Self.verdict("127.0.0.1", open) == "allowed")
    try open.deny("127.0.0.0/8")
    #expect(try Self.verdict("127.0.0.1", open) == "denied by EgressPolicy.deny")
  }
}
