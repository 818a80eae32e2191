// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroGemini
import LastroStreamsTesting
import LastroTesting
import LastroWebSocket
import Testing

/// Tests that the pins of an engine apply to everything that runs on it: fetches, WebSockets and Gemini requests.
@Suite("Pins of an engine", .timeLimit(.minutes(15)))
struct EnginePinsTests {
  /// Pins of keys that no server has.
  private static let absent = "sha256/\(String(repeating: "A", count: 43))="
  private static let spare = "sha256/\(String(repeating: "B", count: 43))="

  private let authority: CertificateAuthority
  private let identity: MintedCertificate
  private let pin: String

  init() throws {
    authority = try CertificateAuthority()
    identity = try authority.issue(hosts: ["localhost"])
    pin = try SPKIHash(pem: identity.certificatePEM).description
  }

  private func engine(pins: [PinningPolicy]) -> CurlConfiguration {
    var engine = CurlConfiguration(pins: pins)
    engine.connection.proxy = .none
    engine.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
    return engine
  }

  private func policy(_ pin: String) throws -> PinningPolicy {
    try PinningPolicy("localhost", pins: [pin, Self.spare])
  }

  @Test("A plain request to a pinned host is refused")
  func pinnedHost() async throws {
    let host = "api.example.com"
    let (key, backup) = (Self.absent, Self.spare)
    let stack = try CurlNetworkStack(CurlConfiguration(pins: [PinningPolicy(host, pins: [key, backup])]))
    let plain = HTTPResource<Data, any Error>.get("http://api.example.com/")
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(plain) }
    #expect(error?.code == .plaintextRefused)
  }

  @Test("A fetch succeeds with a pinned key, and sends nothing without one", arguments: [true, false])
  func fetch(isPinned: Bool) async throws {
    let server = try LoopbackServer.http(tls: LoopbackTLS(identity)) { _ in .text("fine") }
    let stack = try CurlNetworkStack(engine(pins: [policy(isPinned ? pin : Self.absent)]))
    let resource = HTTPResource<Data, any Error>.get("https://localhost:\(server.port)/")
    if isPinned {
      #expect(try await stack.fetch(resource).value == Data("fine".utf8))
    } else {
      let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(resource) }
      #expect(error?.code == .pinMismatch && server.requests.isEmpty)
    }
  }

  @Test("A WebSocket on the stack's engine is checked against its pins", arguments: [true, false])
  func webSocket(isPinned: Bool) async throws {
    let server = try LoopbackWebSocketServer(tls: LoopbackTLS(identity))
    let stack = try CurlNetworkStack(engine(pins: [policy(isPinned ? pin : Self.absent)]))
    let url = server.url
    if isPinned {
      let socket = try await WebSocketClient(dialer: stack.dialer).connect(url)
      try await socket.send("hello")
      var messages = socket.messages.makeAsyncIterator()
      #expect(try await messages.next() == .text("hello"))
    } else {
      let error = await #expect(throws: WebSocketError.self) {
        _ = try await WebSocketClient(dialer: stack.dialer).connect(url)
      }
      #expect(try #require(error).description.contains("trust/pin_mismatch"))
    }
  }

  @Test("A Gemini request on the stack's engine is checked against its pins", arguments: [true, false])
  func gemini(isPinned: Bool) async throws {
    let server = try LoopbackGeminiServer(identity: identity) { _ in .success("# Hello") }
    let stack = try CurlNetworkStack(engine(pins: [policy(isPinned ? pin : Self.absent)]))
    let url = server.url()
    if isPinned {
      let page = try await GeminiClient(dialer: stack.dialer).fetch(url).collected()
      #expect(page.text == "# Hello")
    } else {
      let error = await #expect(throws: GeminiError.self) {
        _ = try await GeminiClient(dialer: stack.dialer).fetch(url).collected()
      }
      #expect(error?.code == .pinMismatch && server.requests.isEmpty)
    }
  }

  @Test("Pins beside a judge, and two policies for a host, are refused when the engine is created")
  func refused() throws {
    var both = engine(pins: [try policy(Self.absent)])
    both.connection.tls.trustJudge = ServerTrustEvaluator(
      configuration: try .init(pinningPolicies: [policy(Self.absent)]))
    let beside = #expect(throws: ConfigurationError.self) { try CurlTransport(both) }
    #expect(beside?.message == "pins and connection.tls.trustJudge exclude each other")
    let twice = engine(pins: [try policy(Self.absent), try policy(Self.absent)])
    let twofold = #expect(throws: ConfigurationError.self) { try CurlTransport(twice) }
    #expect(twofold?.message.contains("localhost") == true)
  }
}
