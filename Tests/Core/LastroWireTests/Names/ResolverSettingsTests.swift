// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@Suite("Settings of a stub resolver")
struct ResolverSettingsTests {
  private static func settings(_ text: String) -> ResolverSettings { ResolverSettings(text.utf8) }

  @Test("Servers, domains and options are read, comments and unknown lines ignored")
  func reading() {
    let settings = Self.settings(
      """
      # made by a test
      nameserver 192.0.2.1
      ;nameserver 192.0.2.66
      \tnameserver\t2001:db8::53 # the second
      nameserver fe80::1%eth0
      sortlist 130.155.160.0
      domain gone.example
      search a.example b.example.
      options ndots:2 timeout:1 attempts:3 use-vc edns0 ndots:x timeout:
      nameserver
      """)
    #expect(settings.servers == ["192.0.2.1", "2001:db8::53"])
    #expect(settings.domains == ["a.example", "b.example"])
    #expect((settings.dots, settings.seconds, settings.attempts) == (2, 1, 3))
    #expect(settings.usesStreams)
  }

  @Test("An empty file means this machine, and numbers out of range are limited")
  func limits() {
    #expect(Self.settings("").servers == ["127.0.0.1"])
    let settings = Self.settings("options ndots:99 timeout:0 attempts:99\n")
    #expect((settings.dots, settings.seconds, settings.attempts) == (15, 1, 5))
    #expect(Self.settings("options timeout:999").seconds == 30)
    let many = (1...9).map { "nameserver 192.0.2.\($0)" }.joined(separator: "\n")
    #expect(Self.settings(many).servers == ["192.0.2.1", "192.0.2.2", "192.0.2.3"])
    let domains = (1...99).map { "d\($0).example" }.joined(separator: " ")
    #expect(Self.settings("search \(domains)").domains.count == 32)
    #expect(Self.settings("search . a..b c.example").domains == ["c.example"])
    let long = String(repeating: "#", count: 65_536) + "\nnameserver 192.0.2.1"
    #expect(Self.settings(long).servers == ["127.0.0.1"])
  }

  @Test("A name with enough dots is looked up as it is first, and otherwise in the domains first")
  func candidates() {
    let settings = Self.settings("search a.example b.example\noptions ndots:2")
    #expect(settings.candidates(for: "x") == ["x.a.example", "x.b.example", "x"])
    #expect(settings.candidates(for: "x.y.z") == ["x.y.z", "x.y.z.a.example", "x.y.z.b.example"])
    #expect(settings.candidates(for: "x.") == ["x"])
    #expect(Self.settings("").candidates(for: "x") == ["x"])
  }

  @Test("The hosts table has all addresses of a name, whatever the case of its letters")
  func hosts() {
    let table = HostsTable(
      """
      127.0.0.1 localhost
      192.0.2.7\tAPI.example api # comment other
      2001:db8::7 api.example
      fe80::1%eth0 api.example
      """.utf8)
    #expect(table.addresses(of: "api.example") == ["192.0.2.7", "2001:db8::7"])
    #expect(table.addresses(of: "api") == ["192.0.2.7"])
    #expect(table.addresses(of: "other") == nil)
    let many = HostsTable((0..<99).map { "192.0.2.\($0) many\n" }.joined().utf8)
    #expect(many.addresses(of: "many")?.count == 64)
  }
}
