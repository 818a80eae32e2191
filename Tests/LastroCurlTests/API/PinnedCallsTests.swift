// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting
import Testing

/// Pins on an engine hold for all that runs on it: fetches, WebSockets and Gemini requests.
@Suite("Everyday calls with pins", .timeLimit(.minutes(5)))
struct PinnedCallsTests {
  private let lab: TrustLab
  private let identity: MintedCertificate

  init() throws {
    lab = try TrustLab()
    identity = try lab.identity("localhost")
  }

  private func engine(pins: [PinningPolicy]) -> CurlConfiguration {
    var engine = CurlConfiguration(pins: pins)
    engine.connection.proxy = .none
    engine.connection.tls.roots = .pem(Array(lab.authority.rootPEM.utf8))
    return engine
  }

  private func policy(_ pin: String) throws -> PinningPolicy {
    try PinningPolicy("localhost", pins: [pin, TrustLab.spare])
  }

  @Test("a pinned host")
  func pin() async throws {
    let host = "api.example.com"
    let (key, backup) = (TrustLab.absent, TrustLab.spare)
    // call: a pinned host
    let stack = try CurlNetworkStack(CurlConfiguration(pins: [PinningPolicy(host, pins: [key, backup])]))
    // OkHttp: val client = OkHttpClient.Builder().certificatePinner(CertificatePinner.Builder().add(host, key, backup).build()).build()
    // end
    let plain = HTTPResource<Data, any Error>.get("http://api.example.com/")
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(plain) }
    #expect(error?.code == .plaintextRefused)
  }

  @Test("a fetch under the engine's pins", arguments: [true, false])
  func fetch(isPinned: Bool) async throws {
    let server = try LoopbackServer.http(tls: LoopbackTLS(identity)) { _ in .text("fine") }
    let pin = isPinned ? try TrustLab.pin(identity) : TrustLab.absent
    let stack = try CurlNetworkStack(engine(pins: [policy(pin)]), configuration: .patient)
    let resource = HTTPResource<Data, any Error>.get(server.url("localhost"))
    if isPinned {
      #expect(try await stack.fetch(resource).value == Data("fine".utf8))
    } else {
      let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(resource) }
      #expect(error?.code == .pinMismatch && server.requests.isEmpty)
    }
  }

  @Test("a WebSocket on the stack's engine, under its pins", arguments: [true, false])
  func webSocket(isPinned: Bool) async throws {
    let server = try LoopbackWebSocketServer(tls: LoopbackTLS(identity))
    let pin = isPinned ? try TrustLab.pin(identity) : TrustLab.absent
    let stack = try CurlNetworkStack(engine(pins: [policy(pin)]))
    let url = server.url
    if isPinned {
      // call: a WebSocket with the stack's pins
      let socket = try await WebSocketClient(dialer: stack.dialer).connect(url)
      // OkHttp: val socket = client.newWebSocket(Request.Builder().url(url).build(), listener)
      // end
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

  @Test("a Gemini request on the stack's engine, under its pins", arguments: [true, false])
  func gemini(isPinned: Bool) async throws {
    let server = try LoopbackGeminiServer(identity: identity) { _ in .success("# Hello") }
    let pin = isPinned ? try TrustLab.pin(identity) : TrustLab.absent
    let stack = try CurlNetworkStack(engine(pins: [policy(pin)]))
    let url = server.url()
    if isPinned {
      // call: a Gemini request with the stack's pins (the others have none)
      let page = try await GeminiClient(dialer: stack.dialer).fetchData(url)
      // end
      #expect(page.text == "# Hello")
    } else {
      let error = await #expect(throws: GeminiError.self) {
        _ = try await GeminiClient(dialer: stack.dialer).fetchData(url)
      }
      #expect(error?.code == .pinMismatch && server.requests.isEmpty)
    }
  }

  @Test("pins beside a judge, and two policies for a host, are refused when the engine is made")
  func refused() throws {
    var both = engine(pins: [try policy(TrustLab.absent)])
    both.connection.tls.trustJudge = try TrustLab.evaluator(policy(TrustLab.absent))
    let beside = #expect(throws: ConfigurationError.self) { try CurlTransport(both) }
    #expect(beside?.message == "pins and connection.tls.trustJudge are both set")
    let twice = engine(pins: [try policy(TrustLab.absent), try policy(TrustLab.absent)])
    let twofold = #expect(throws: ConfigurationError.self) { try CurlTransport(twice) }
    #expect(twofold?.message.contains("localhost") == true)
  }
}
