// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Digest: exchanges")
struct DigestExchangeTests {
  /// A stack that proves a password to a server on this machine.
  private static func stack(_ url: String, user: String, password: Secret) throws -> CurlNetworkStack {
    var configuration = StackConfiguration.patient
    configuration.interceptors = [
      try DigestAuthenticator(user: user, password: password, origins: [try Origin(url)])
    ]
    return try CurlNetworkStack.direct(configuration: configuration)
  }

  private static func running(
    _ rules: DigestServer.Rules, user: String = DigestServer.user, password: String = DigestServer.password,
    _ body: (DigestServer, CurlNetworkStack, String) async throws -> Void
  ) async throws {
    let server = try DigestServer(rules)
    defer { server.stop() }
    let url = try #require(server.server?.baseURL)
    try await body(server, try stack(url, user: user, password: Secret(password)), url + "/a%20b/c?d=e,f&g=%22")
  }

  @Test(
    "a server that computes for itself accepts every form",
    arguments: ["SHA-256", "SHA-512-256", "MD5", "SHA-256-sess", "SHA-512-256-sess", "MD5-sess"],
    ["auth", "auth-int", "auth,auth-int"])
  func forms(algorithm: String, offered: String) async throws {
    for hashesUser in [false, true] {
      let rules = DigestServer.Rules(
        algorithm: algorithm, protection: offered == "auth-int" ? offered : "auth", hashesUser: hashesUser)
      try await Self.running(rules) { server, stack, url in
        let answer = try await stack.send(.get, url)
        #expect(answer.response.status == .ok && answer.response.attempts.count == 2)
        let posted = try await stack.send(.post, url, body: .raw("payload"))
        #expect(posted.text == "payload" && posted.response.attempts.count == 1)
        #expect(server.complaints == [])
      }
    }
  }

  @Test("a server of RFC 2069")
  func legacy() async throws {
    try await Self.running(.init(algorithm: "MD5", protection: nil)) { server, stack, url in
      for _ in 0..<3 { _ = try await stack.send(.get, url) }
      #expect(server.complaints == [] && server.server?.requests.count == 4)
    }
  }

  @Test("a POST is sent twice, with its body both times, and never a third time", arguments: [false, true])
  func post(isFile: Bool) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "lastro-digest-\(UUID().uuidString)").path
    try Data("payload".utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let body = isFile ? try RequestBody.file(path: path) : .raw("payload")
    try await Self.running(.init()) { server, stack, url in
      let answer = try await stack.send(.post, url, body: body)
      #expect(answer.text == "payload")
      #expect(server.server?.requests.map(\.text) == ["payload", "payload"])
    }
    try await Self.running(.init(), password: "wrong") { server, stack, url in
      let error = try await failure { try await stack.send(.post, url, body: body) }
      #expect(error.statusCode == .unauthorized && error.attempts.count == 2)
      #expect(server.server?.requests.map(\.text) == ["payload", "payload"])
      #expect(server.complaints == ["the response is wrong"])
    }
  }

  @Test("nonces that wear out: stale ones are replaced within the call")
  func wearing() async throws {
    try await Self.running(.init(uses: 2)) { server, stack, url in
      for _ in 0..<7 { _ = try await stack.send(.get, url) }
      #expect(server.complaints == [])
      // The first 401, and one for each further nonce: 7 requests, two a nonce.
      #expect(server.server?.requests.count == 7 + 4)
    }
  }

  @Test("a nonce for each request, given with the answer before: no 401 but the first")
  func nextNonces() async throws {
    try await Self.running(.init(uses: 1, givesNextNonce: true)) { server, stack, url in
      for _ in 0..<6 { _ = try await stack.send(.get, url) }
      #expect(server.complaints == [] && server.server?.requests.count == 7)
    }
  }

  @Test("calls at the same time have counts of their own")
  func concurrency() async throws {
    try await Self.running(.init()) { server, stack, url in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<200 { group.addTask { _ = try await stack.send(.get, url) } }
        try await group.waitForAll()
      }
      // A count that came twice would have been called stale, and cost a request more.
      #expect(server.complaints == [])
      let authenticated = server.server?.requests.filter { !$0.head.values("Authorization").isEmpty }
      #expect(authenticated?.count == 200)
    }
  }

  @Test("squid accepts it; a nonce that it wore out costs one request more")
  func squid() async throws {
    let origin = try LoopbackServer.http { request in .text("\(request.method) \(request.text)") }
    defer { origin.stop() }
    let peer = try await DigestPeer.start(upstream: origin.port)
    defer { peer.stop() }
    let url = "http://127.0.0.1:\(peer.port)"
    let stack = try Self.stack(url, user: DigestPeer.user, password: Secret(DigestPeer.password))
    for index in 0..<(2 * DigestPeer.uses + 1) {
      let answer = try await stack.send(.post, url + "/a%20b?c=%22,\(index)", body: .raw("payload"))
      #expect(answer.text == "POST payload")
    }
    #expect(origin.requests.count == 2 * DigestPeer.uses + 1)
    #expect(origin.requests.allSatisfy { $0.head.values("Authorization").isEmpty })
    #expect(await eventually { peer.statuses().count { $0 == "200" } == 2 * DigestPeer.uses + 1 })
    #expect((1...4).contains(peer.statuses().count { $0 == "401" }))

    let stranger = try Self.stack(url, user: DigestPeer.user, password: "wrong")
    let error = try await failure { try await stranger.send(.post, url + "/", body: .raw("payload")) }
    #expect(error.statusCode == .unauthorized && error.attempts.count == 2)
    #expect(origin.requests.count == 2 * DigestPeer.uses + 1)
  }
}
