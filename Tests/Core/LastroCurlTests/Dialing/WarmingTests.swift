// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

@Suite("Connections that are opened in advance", .ownThread, .timeLimit(.minutes(15)))
struct WarmingTests {
  @Test("Requests find the connections that were opened, also on several loops", arguments: [1, 2])
  func requestsFindConnections(loops: Int) async throws {
    let server = try LoopbackServer.http { _ in .text("answer") }
    let stack = try CurlNetworkStack.direct { $0.loops = loops }
    try await stack.warm([server.baseURL], connections: 1)
    try await stack.warm([server.baseURL], connections: 3)
    try await stack.warm([server.baseURL], connections: 3)
    // The server's thread may accept them later.
    #expect(await eventually { server.acceptedConnections == 3 })
    for _ in 0..<3 {
      #expect(try await stack.send(.get, server.baseURL).response.facts.connectionReused)
    }
    #expect(server.acceptedConnections == 3)
  }

  @Test("Without URLs, the base URL of the stack is connected to")
  func baseURL() async throws {
    let server = try LoopbackServer.http { _ in .text("answer") }
    let engine = try CurlNetworkStack.direct()
    let stack = CurlNetworkStack(sharing: engine, configuration: StackConfiguration(baseURL: server.baseURL))
    try await stack.warm()
    #expect(try await stack.send(.get, server.baseURL).response.facts.connectionReused)
    let error = await #expect(throws: TransportError.self) { try await engine.warm() }
    #expect(error?.code == .invalidURL && error?.hint?.contains("base URL") == true)
  }

  @Test("A server whose pin does not match fails, and the connections to the others stay open")
  func pins() async throws {
    let root = try CertificateAuthority()
    let identity = try root.issue(hosts: ["localhost"])
    let pinned = try LoopbackServer.http(tls: LoopbackTLS(identity)) { _ in .text("answer") }
    let other = try LoopbackServer.http { _ in .text("answer") }
    let judge = try TestAuthority.evaluator(
      TestAuthority.policy("localhost", "sha256/\(String(repeating: "A", count: 43))="))
    let stack = try CurlNetworkStack.direct {
      $0.connection.tls.roots = .pem(Array(root.rootPEM.utf8))
      $0.connection.tls.trustJudge = judge
    }
    let error = await #expect(throws: TransportError.self) {
      try await stack.warm([other.baseURL, pinned.baseURL], connections: 2)
    }
    #expect(error?.code == .pinMismatch && error?.requestSent == false)
    #expect(try await stack.send(.get, other.baseURL).response.facts.connectionReused)
  }

  @Test("Invalid values are refused, and nothing is dialed")
  func invalidValues() async throws {
    let server = try LoopbackServer.http { _ in .text("answer") }
    let stack = try CurlNetworkStack.direct { $0.connectionsPerHost = 2 }
    for (url, connections, timeout, code) in [
      (server.baseURL, 3, Duration.seconds(5), FailureCode.invalidOption),
      (server.baseURL, 0, .seconds(5), .invalidOption),
      (server.baseURL, 1, .zero, .invalidOption),
      ("ftp://127.0.0.1/", 1, .seconds(5), .unsupportedScheme),
    ] {
      let error = await #expect(throws: TransportError.self) {
        try await stack.warm([url], connections: connections, timeout: timeout)
      }
      #expect(error?.code == code && error?.hint != nil)
    }
    await stack.shutDown()
    let ended = await #expect(throws: TransportError.self) { try await stack.warm([server.baseURL]) }
    #expect(ended?.code == .shutDown && server.acceptedConnections == 0)
  }
}
