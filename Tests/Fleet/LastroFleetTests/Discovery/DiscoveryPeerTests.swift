// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import Lastro
import LastroCurl
import LastroFleet
import LastroResilience
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Requests to servers that come and go", .timeLimit(.minutes(15)))
struct DiscoveryPeerTests {
  private let file: URL

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "pods-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    file = folder.appending(path: "pods")
  }

  private func list(_ ports: [Int]) throws {
    try Data(ports.map { "127.0.0.1:\($0)\n" }.joined().utf8).write(to: file, options: .atomic)
  }

  /// Returns a stack that spreads requests to a URL over the servers in the file.
  private func stack(
    _ url: String, _ edit: (inout ConnectionOptions) -> Void
  ) async throws -> (CurlNetworkStack, EndpointSet) {
    let set = try await EndpointSet(following: .file(file.path, of: url))
    var engine = CurlConfiguration()
    engine.connection.proxy = .none
    edit(&engine.connection)
    var configuration = StackConfiguration()
    configuration.resilience = Resilience(endpoints: set)
    configuration.interceptors = [.retry(.maxRetries(3))]
    return (try CurlNetworkStack(engine, configuration: configuration), set)
  }

  @Test("Each server has one HTTP/2 connection, and shows a certificate for the name of the URL")
  func connections() async throws {
    let authority = try TestAuthority()
    var tls = try authority.tls("notes.test")
    tls.applicationProtocols = ["h2"]
    let servers = try (0..<3).map { number in
      try LoopbackServer.http2(tls: tls) { _ in .text("\(number)") }
    }
    try list(servers.map(\.port))
    let (stack, _) = try await stack("https://notes.test") { $0 = authority.options() }
    // The first requests open the connections.
    for _ in 0..<30 { _ = try await stack.fetch(.text("https://notes.test/")) }
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<90 { group.addTask { try await stack.fetch(.text("https://notes.test/")).value } }
      return try await group.reduce(into: [String]()) { $0.append($1) }
    }
    let counts = Dictionary(grouping: texts) { $0 }.mapValues(\.count)
    #expect(Set(counts.keys) == ["0", "1", "2"] && counts.values.allSatisfy { $0 > 3 }, "\(counts)")
    #expect(servers.map(\.establishedConnections) == [1, 1, 1])
    // A certificate for another name is refused, whichever member is chosen.
    let other = try await self.stack("https://other.test") { $0 = authority.options() }.0
    let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) {
      try await other.fetch(.text("https://other.test/"))
    }
    #expect(error?.stage == .tls || error?.stage == .trust, "\(error as Any)")
  }

  @Test("Of three nginx that come and go, each present one serves requests over one connection, and no call fails")
  func nginx() async throws {
    let first = try await NginxPeer.start(), second = try await NginxPeer.start()
    try list([first.ports.h2c, second.ports.h2c])
    let (stack, set) = try await stack("http://notes.test") { $0.httpVersion = .http2 }
    func call() async throws { _ = try await stack.fetch(.text("http://notes.test/text")) }
    func requests(_ peer: NginxPeer) -> [String] { peer.accessLog().filter { $0.contains("/text") } }
    func connections(_ peer: NginxPeer) -> Int { Set(requests(peer).map { $0.prefix { $0 != " " } }).count }
    let isSpread = try await eventually {
      try await call()
      return requests(first).count >= 20 && requests(second).count >= 20
    }
    #expect(isSpread)
    #expect(connections(first) == 1 && connections(second) == 1)

    // A server ends before it is removed from the list.
    first.stop()
    for _ in 0..<50 { try await call() }
    let third = try await NginxPeer.start()
    try list([second.ports.h2c, third.ports.h2c])
    #expect(await eventually { set.health().contains { $0.endpoint.address?.port == third.ports.h2c } })
    #expect(
      try await eventually {
        try await call()
        return requests(third).count >= 5
      })

    // A server is removed, and has nothing to do when it ends.
    try list([third.ports.h2c])
    #expect(await eventually { set.health().count == 1 })
    let served = requests(second).count
    for _ in 0..<50 { try await call() }
    #expect(requests(second).count == served && connections(second) == 1 && connections(third) == 1)
    second.stop()
    for _ in 0..<10 { try await call() }
    third.stop()
  }
}
