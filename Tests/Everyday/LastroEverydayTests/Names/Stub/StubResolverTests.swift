// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import Lastro
import LastroCurl
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("A stub resolver and its DNS server", .timeLimit(.minutes(15)))
struct StubResolverTests {
  private let server: LoopbackDNSServer
  private let dialer: CurlTransport
  private let folder: URL

  init() throws {
    server = try LoopbackDNSServer()
    dialer = try TestAuthority.engine()
    folder = FileManager.default.temporaryDirectory.appending(path: "stub-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  /// Returns a resolver with files of its own.
  private func resolver(
    _ settings: String = "", hosts: String = "", servers: [String]? = nil
  ) throws -> StubResolver {
    var files = StubResolver.Files()
    files.settings = folder.appending(path: "resolv.conf").path
    files.hosts = folder.appending(path: "hosts").path
    try Data(settings.utf8).write(to: URL(filePath: files.settings))
    try Data(hosts.utf8).write(to: URL(filePath: files.hosts))
    return try StubResolver(dialer: dialer, servers: servers ?? [server.address], files: files)
  }

  private func resolve(_ resolver: StubResolver, _ name: String) async throws -> ResolvedName {
    try await resolver.resolve(try HostName(name), port: 443)
  }

  @Test("Both families are looked up, with the smallest time to live, behind an alias")
  func families() async throws {
    server.set("api.example", 1, .records([.alias("cdn.example"), .address("192.0.2.7")], timeToLive: 20))
    server.set("api.example", 28, .records([.address("2001:db8::7")], timeToLive: 9))
    let found = try await resolve(try resolver(), "api.example")
    #expect(found == (try ResolvedName(addresses: ["2001:db8::7", "192.0.2.7"], timeToLive: .seconds(9))))
    #expect(server.questions.read { $0.count } == 2)
  }

  @Test("A new answer of the server is seen at the next look-up")
  func changes() async throws {
    let resolver = try resolver()
    server.set("api.example", addresses: ["192.0.2.1"])
    #expect(try await resolve(resolver, "api.example").addresses == ["192.0.2.1"])
    server.set("api.example", addresses: ["192.0.2.2", "192.0.2.3"])
    #expect(try await resolve(resolver, "api.example").addresses == ["192.0.2.2", "192.0.2.3"])
    server.set("api.example", addresses: [])
    #expect(try await resolve(resolver, "api.example").addresses == [])
  }

  @Test("A truncated response is asked for again over TCP")
  func truncation() async throws {
    let many = (1...40).map { LoopbackDNSServer.Record.address("192.0.2.\($0)") }
    server.set("many.example", 1, .overTCP(many))
    server.set("many.example", 28, .code(0))
    #expect(try await resolve(try resolver(), "many.example").addresses.count == 40)
    #expect(server.questions.read { $0.map(\.isOverTCP) }.sorted { !$0 && $1 } == [false, false, true])
  }

  @Test("Every query has an id and a port of its own, and forged datagrams are ignored")
  func forgeries() async throws {
    server.set("api.example", 1, .afterForgeries(.records([.address("192.0.2.7")])))
    server.set("api.example", 28, .afterForgeries(.code(0)))
    let resolver = try resolver()
    for _ in 0..<8 { #expect(try await resolve(resolver, "api.example").addresses == ["192.0.2.7"]) }
    let questions = server.questions.read { $0 }
    #expect(questions.count == 16)
    #expect(Set(questions.map(\.id)).count >= 15 && Set(questions.map(\.port)).count >= 12)
  }

  @Test("Domains are searched like glibc does, and an absence is reported only if no look-up failed")
  func search() async throws {
    let text = "search a.example b.example\noptions ndots:2 timeout:1 attempts:1\n"
    server.set("api.b.example", addresses: ["192.0.2.7"])
    server.set("one.two.three", addresses: ["192.0.2.8"])
    let resolver = try resolver(text)
    #expect(try await resolve(resolver, "api").addresses == ["192.0.2.7"])
    #expect(server.questions.read { Set($0.map(\.name)) } == ["api.a.example", "api.b.example"])
    #expect(try await resolve(resolver, "one.two.three").addresses == ["192.0.2.8"])
    #expect(try await resolve(resolver, "missing").addresses == [])
    server.set("ill.a.example", 1, .code(2))
    server.set("ill.a.example", 28, .code(2))
    let error = await #expect(throws: TransportError.self) { try await resolve(resolver, "ill") }
    #expect(
      error?.message
        == "the DNS server \(server.address) does not answer the question for ill.a.example: it answered with code 2, SERVFAIL"
    )
    server.set("ill.b.example", addresses: ["192.0.2.9"])
    #expect(try await resolve(resolver, "ill").addresses == ["192.0.2.9"])
  }

  @Test("A server that is silent or refuses is passed over, and a silent one costs its timeout only")
  func failover() async throws {
    let silent = try LoopbackDNSServer(), refusing = try LoopbackDNSServer()
    silent.set("api.example", 1, .silence)
    silent.set("api.example", 28, .silence)
    refusing.set("api.example", 1, .code(5))
    refusing.set("api.example", 28, .code(5))
    server.set("api.example", addresses: ["192.0.2.7"])
    let text = "options timeout:1 attempts:1\n"
    let resolver = try resolver(text, servers: [silent.address, refusing.address, server.address])
    #expect(try await resolve(resolver, "api.example").addresses == ["192.0.2.7"])
    #expect(silent.questions.read { $0.count } == 2 && refusing.questions.read { $0.count } == 2)
    let alone = try self.resolver(text, servers: [silent.address])
    let error = await #expect(throws: TransportError.self) { try await resolve(alone, "api.example") }
    #expect(error?.stage == .resolve && error?.message.contains("it does not respond") == true, "\(error as Any)")
  }

  @Test("The hosts file is read first, and names of this machine are not asked for")
  func hosts() async throws {
    let resolver = try resolver(hosts: "192.0.2.1 api.example # a comment\n2001:db8::1 api.example\nbad api.example\n")
    #expect(try await resolve(resolver, "api.example").addresses == ["192.0.2.1", "2001:db8::1"])
    #expect(try await resolve(resolver, "localhost").addresses == ["::1", "127.0.0.1"])
    #expect(try await resolve(resolver, "192.0.2.9").addresses == ["192.0.2.9"])
    #expect(server.questions.read { $0.isEmpty })
  }

  @Test("The servers of a service are found with priority, weight and port")
  func services() async throws {
    let records: [LoopbackDNSServer.Record] = [
      .service(priority: 1, weight: 5, port: 8443, target: "n1.example"),
      .service(priority: 2, weight: 0, port: 8444, target: "n2.example"),
    ]
    server.set("_https._tcp.notes.example", 33, .records(records, timeToLive: 12))
    let found = try #require(try await resolver().services("_https._tcp.notes.example"))
    #expect(found.services.map(\.target) == ["n1.example", "n2.example"])
    #expect(found.services.map(\.port) == [8443, 8444] && found.timeToLive == .seconds(12))
    #expect(try await resolver().services("_https._tcp.other.example") == nil)
  }

  @Test("A cancelled look-up ends at once")
  func cancellation() async throws {
    server.set("api.example", 1, .silence)
    server.set("api.example", 28, .silence)
    let resolver = try resolver()
    let name = try HostName("api.example")
    let task = Task { () async throws(TransportError) -> ResolvedName in try await resolver.resolve(name, port: 1) }
    #expect(await server.questions.wait { $0.count == 2 })
    task.cancel()
    let error = await #expect(throws: TransportError.self) { try await task.value }
    #expect(error?.stage == .cancelled)
  }

  @Test("A server that is not an address is refused")
  func refused() {
    for text in ["dns.example", "192.0.2.1:0", "192.0.2.1:x", "2001:db8::1:99999", ""] {
      #expect(throws: ConfigurationError.self, "\(text)") { try StubResolver(dialer: dialer, servers: [text]) }
    }
  }
}
