// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import Lastro
import LastroCurl
import LastroWire
import PeerSupport
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("A stub resolver and dnsmasq", .timeLimit(.minutes(15)))
struct StubResolverPeerTests {
  private func resolver(_ peer: DnsmasqPeer) throws -> StubResolver {
    var files = StubResolver.Files()
    files.hosts = "/dev/null"
    files.settings = "/dev/null"
    return try StubResolver(dialer: try TestAuthority.engine(), servers: ["127.0.0.1:\(peer.port)"], files: files)
  }

  private func resolve(_ resolver: StubResolver, _ name: String) async throws -> ResolvedName {
    try await resolver.resolve(try HostName(name), port: 443)
  }

  @Test("Addresses of both families, aliases, services and absences are found as dnsmasq has them")
  func records() async throws {
    let peer = try await DnsmasqPeer.start(
      hosts: "192.0.2.7 api.example\n2001:db8::7 api.example\n", "--cname=www.example,api.example",
      "--srv-host=_https._tcp.notes.example,n1.example,8443,10,60")
    let resolver = try resolver(peer)
    let found = try await resolve(resolver, "api.example")
    #expect(found.addresses == ["2001:db8::7", "192.0.2.7"] && found.timeToLive == .seconds(1))
    #expect(try await resolve(resolver, "www.example").addresses == ["2001:db8::7", "192.0.2.7"])
    #expect(try await resolve(resolver, "missing.example").addresses == [])
    let services = try #require(try await resolver.services("_https._tcp.notes.example")).services
    #expect(services.map { "\($0.target):\($0.port) \($0.priority) \($0.weight)" } == ["n1.example:8443 10 60"])
    #expect(try await resolver.services("_https._tcp.missing.example") == nil)
  }

  @Test("A response that does not fit into a datagram is received over TCP, and a change is seen")
  func truncation() async throws {
    let lines = (1...120).map { "192.0.2.\($0) many.example\n" }.joined()
    let peer = try await DnsmasqPeer.start(hosts: lines)
    let resolver = try resolver(peer)
    #expect(try await resolve(resolver, "many.example").addresses.count == 64)
    try peer.replace(hosts: "192.0.2.200 many.example\n")
    #expect(await eventually { (try? await resolve(resolver, "many.example"))?.addresses == ["192.0.2.200"] })
  }
}
