// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroWebSocket
import TestSupport
import Testing

@Suite("WebSocket handshakes", .timeLimit(.minutes(15)))
struct WebSocketHandshakeTests {
  /// Returns the behavior of a server that responds with 401 until it receives the right `Authorization`.
  private func guarded() -> LoopbackWebSocketBehavior {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onHandshake = { request in
      request.head["Authorization"] == "Bearer right" ? nil : LoopbackResponse(status: 401, body: Array("who?".utf8))
    }
    return behavior
  }

  /// An interceptor that adds a token, and a new one after a 401.
  private struct Tokens: HTTPResourceInterceptor {
    func interceptMakeRequest(
      _ result: Result<ResourceRequest, any Error>, context: AttemptContext
    ) async -> Result<ResourceRequest, any Error> {
      Result {
        var request = try result.get()
        try request.setHeader("Authorization", context.retryState.retryCount == 0 ? "Bearer old" : "Bearer right")
        return request
      }
    }

    func interceptFailed(
      _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
      context: AttemptContext
    ) async -> Retry.Action {
      error.statusCode == .unauthorized && context.retryState.retryCount == 0 ? .retry : .none
    }
  }

  private func refusal(_ client: WebSocketClient, _ url: String = "ws://h/") async -> WebSocketError? {
    do throws(WebSocketError) {
      _ = try await client.connect(url)
      return nil
    } catch {
      return error
    }
  }

  @Test("Subprotocols are offered in order, and the server's choice is reported")
  func subprotocol() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.subprotocol = "v2"
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(behavior, record: record) { $0.subprotocols = ["v3", "v2"] }
      .connect("ws://h/", headers: ["Origin": "https://example.org", "X-Two": "1"])
    #expect(socket.subprotocol == "v2")
    #expect(record.handshakes.first?.head["Sec-WebSocket-Protocol"] == "v3, v2")
    #expect(record.handshakes.first?.head["Origin"] == "https://example.org")
    #expect(socket.response.status == .switchingProtocols)
    #expect(socket.response.attempts.count == 1)
  }

  @Test("A resource's interceptors take part: a 401 is answered with another token")
  func interceptors() async throws {
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let request = try ResourceRequest(url: "http://h/private")
    let resource = RawHTTPResource.raw(request, interceptors: [Tokens()])
    let socket = try await memoryClient(guarded(), record: record).connect(to: resource)
    #expect(record.handshakes.map { $0.head["Authorization"] } == ["Bearer old", "Bearer right"])
    #expect(Set(record.handshakes.map { $0.head["Sec-WebSocket-Key"] }).count == 2)
    #expect(socket.response.attempts.count == 2)
    try await socket.send("x")
    var messages = socket.messages.makeAsyncIterator()
    #expect(try await messages.next() == .text("x"))
  }

  @Test("A refusal is reported with status and body, and without the secrets of the request")
  func refused() async throws {
    let error = await #expect(throws: WebSocketError.self) {
      try await memoryClient(guarded()).connect(
        "ws://h/?token=planted-secret", headers: ["Authorization": "Bearer planted"])
    }
    guard case .handshake(let fetch) = error?.reason else { return fails("\(String(describing: error))") }
    #expect(fetch.statusCode == .unauthorized)
    #expect(fetch.body == Data("who?".utf8))
    #expect(error?.stage == .http)
    #expect(!"\(String(describing: error)) \(fetch)".contains("planted"))
  }

  @Test("Redirects are followed or refused as the stack is configured, also to a ws URL")
  func redirects() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onHandshake = { request in
      request.path == "/old" ? LoopbackResponse(status: 307, headers: ["Location": "ws://h/new"]) : nil
    }
    let record = EventRecorder<LoopbackWebSocketEvent>()
    var client = memoryClient(behavior, record: record)
    let socket = try await client.connect("ws://h/old")
    #expect(record.handshakes.map(\.path) == ["/old", "/new"])
    #expect(socket.response.redirects == ["http://h/new"])
    client.stack.redirects = .none
    let error = await #expect(throws: WebSocketError.self) { try await client.connect("ws://h/old") }
    guard case .handshake(let fetch) = error?.reason else { return fails("\(String(describing: error))") }
    #expect(fetch.statusCode == .temporaryRedirect)
  }

  @Test("A redirect's connection, which its server may be closing, is not used for the handshake", arguments: 0..<8)
  func redirectThatCloses(round: Int) async throws {
    let requests = EventRecorder<String>()
    let server = try LoopbackServer { connection in
      guard let head = try connection.readHead() else { return }
      requests.record("\(connection.number) \(head.path)")
      // The server closes the connection after its response without announcing that; in every other round, a moment
      // later.
      if head.path == "/old" {
        try connection.write("HTTP/1.1 302 Found\r\nLocation: /new\r\nContent-Length: 0\r\n\r\n")
        if round % 2 == 1 { _ = connection.pause(.milliseconds(5)) }
      } else {
        try connection.write("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
      }
    }
    let client = try WebSocketClient(dialer: CurlTransport())
    let error = await #expect(throws: WebSocketError.self) {
      try await client.connect("ws://127.0.0.1:\(server.port)/old")
    }
    guard case .handshake(let fetch) = error?.reason else { return fails("\(String(describing: error))") }
    #expect(fetch.statusCode == .forbidden && fetch.body == Data("no".utf8))
    #expect(requests.events == ["1 /old", "2 /new"])
  }

  @Test("Credentials, address and server name are dropped when a redirect leads to another origin")
  func elsewhere() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onHandshake = { request in
      request.path == "/old" ? LoopbackResponse(status: 302, headers: ["Location": "wss://other.example/new"]) : nil
    }
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let dialer = PinnedHostsDialer(below: LoopbackWebSocketServer.dialer(record: record, behavior))
    let client = memoryClient(over: dialer) {
      $0.address = ("10.0.0.1", 8443)
      $0.serverName = "inner.example"
    }
    _ = try await client.connect(
      "wss://first.example/old", headers: ["Authorization": "Bearer x"])
    let dialed = dialer.dialed.events
    #expect(dialed.map(\.host) == ["10.0.0.1", "other.example"])
    #expect(dialed.map(\.port) == [8443, 443])
    #expect(dialed.map { $0.tls?.serverName } == ["inner.example", nil])
    #expect(dialed.map { $0.tls?.applicationProtocols } == [["http/1.1"], ["http/1.1"]])
    #expect(record.handshakes.map { $0.head["Host"] } == ["first.example", "other.example"])
    #expect(record.handshakes.map { $0.head["Authorization"] } == ["Bearer x", nil])
  }

  @Test("Limits of the largest values work")
  func largest() async throws {
    let socket = try await memoryClient {
      $0.compression = .init(minimumBytes: .max)
      $0.maximumMessageBytes = .max
      $0.receiveBufferBytes = .max
      $0.maximumOutgoingFrameBytes = 1 << 30
      $0.closeTimeout = .seconds(1_000_000_000)
    }.connect("ws://h/")
    try await socket.send("x")
    var messages = socket.messages.makeAsyncIterator()
    #expect(try await messages.next() == .text("x"))
    #expect(try await socket.close().isClean)
  }

  @Test("Address and server name are not used for the same host over another scheme")
  func otherScheme() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onHandshake = { request in
      request.path == "/old" ? LoopbackResponse(status: 302, headers: ["Location": "wss://h:8080/new"]) : nil
    }
    let dialer = PinnedHostsDialer(below: LoopbackWebSocketServer.dialer(behavior))
    let client = memoryClient(over: dialer) {
      $0.address = ("10.0.0.1", 81)
      $0.serverName = "inner.example"
    }
    _ = try await client.connect("ws://h:8080/old")
    let dialed = dialer.dialed.events
    #expect(dialed.map(\.host) == ["10.0.0.1", "h"])
    #expect(dialed.map(\.port) == [81, 8080])
    #expect(dialed.map { $0.tls?.serverName } == [nil, nil])
  }

  @Test("With another address the URL's host is still checked before plain text is sent")
  func plaintext() async throws {
    for (url, asked, isRefused) in [
      // The host is checked before the dial, and before the request.
      ("ws://pinned.example/", [80], true), ("ws://other.example:81/", [81, 81], false),
      ("wss://pinned.example/", [], false),
    ] {
      let dialer = PinnedHostsDialer(below: LoopbackWebSocketServer.dialer(), pinned: ["pinned.example"])
      let client = memoryClient(over: dialer) { $0.address = ("10.0.0.1", 8080) }
      let error = await refusal(client, url)
      #expect(error?.code == (isRefused ? .plaintextRefused : nil))
      #expect(dialer.checked.events.map(\.port) == asked)
      #expect(dialer.dialed.events.map(\.host) == (isRefused ? [] : ["10.0.0.1"]))
    }
  }

  @Test("URLs determine host, port and TLS")
  func urls() async throws {
    for (url, host, port, isSecure) in [
      ("ws://h/", "h", 80, false), ("WSS://H.example:8443/x", "h.example", 8443, true),
      ("http://[::1]:81/", "::1", 81, false),
      ("wss://h", "h", 443, true),
    ] {
      let dialer = PinnedHostsDialer(below: LoopbackWebSocketServer.dialer())
      _ = try await memoryClient(over: dialer).connect(url)
      let request = try #require(dialer.dialed.events.first)
      #expect(request.host == host && request.port == port && (request.tls != nil) == isSecure)
    }
  }

  @Test("Invalid URLs and configurations are refused before anything is dialed")
  func invalid() async throws {
    let dialer = PinnedHostsDialer(below: LoopbackWebSocketServer.dialer())
    for url in ["", "h", "ftp://h/", "ws://h/#x", "ws://u:p@h/", "ws:///x", "ws://h:0/", "ws://h/a b"] {
      let error = await #expect(throws: WebSocketError.self) { try await WebSocketClient(dialer: dialer).connect(url) }
      #expect(error?.stage == .request, "\(url)")
    }
    let changes: [(inout WebSocketConfiguration) -> Void] = [
      { $0.subprotocols = ["a b"] }, { $0.subprotocols = ["a", "a"] }, { $0.subprotocols = [""] },
      { $0.maximumMessageBytes = 0 }, { $0.receiveBufferBytes = 0 },
      { $0.keepAlive = .zero }, { $0.closeTimeout = .seconds(-1) }, { $0.address = ("", nil) },
      { $0.address = ("h", 65_536) }, { $0.maximumOutgoingFrameBytes = 0 },
      { $0.maximumOutgoingFrameBytes = .max }, { $0.keepAlive = .seconds(Int64.max) },
      { $0.closeTimeout = .seconds(Int64.max) }, { $0.maximumFragmentedMessageBytes = 1000 },
      { $0.compression = .init(minimumBytes: -1) }, { $0.compression = .init(clientMaximumWindowBits: 16) },
    ]
    for change in changes {
      var client = WebSocketClient(dialer: dialer)
      change(&client.configuration)
      let error = await refusal(client)
      #expect(error?.word == "invalidArgument")
    }
    for header in ["Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Protocol", "Connection"] {
      let error = await #expect(throws: WebSocketError.self) {
        try await WebSocketClient(dialer: dialer).connect("ws://h/", headers: [.init(header): "x"])
      }
      #expect(error?.stage == .request)
    }
    #expect(dialer.dialed.events.isEmpty)
  }

  @Test("Responses that are not a WebSocket handshake are distinguished")
  func wrongAnswers() async throws {
    let answers: [((inout LoopbackWebSocketBehavior) -> Void, FailureCode)] = [
      ({ $0.handshake = .wrongAccept }, .protocolViolation), ({ $0.handshake = .fields([]) }, .protocolViolation),
      ({ $0.onHandshake = { _ in .text("a page") } }, .protocolViolation),
      ({ $0.handshake = .bytes(Array("nonsense\r\n\r\n".utf8)) }, .malformedResponse),
      ({ $0.handshake = .bytes(Array("HTTP/1.1 101\r\n\r\n".utf8)) }, .protocolViolation),
      ({ $0.onHandshake = { _ in LoopbackResponse(status: 503) } }, .unexpectedStatus),
    ]
    for (edit, code) in answers {
      var behavior = LoopbackWebSocketBehavior()
      edit(&behavior)
      let error = await #expect(throws: WebSocketError.self) {
        try await memoryClient(behavior, shape: .init(longestRead: 1)).connect("ws://h/")
      }
      #expect(error?.code == code)
    }
  }

  @Test("Compression is negotiated as offered, and parameters not offered are refused")
  func compression() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.compression = .init()
    behavior.compression?.serverNoContextTakeover = true
    behavior.compression?.clientWindowBits = 10
    let socket = try await memoryClient(behavior) { $0.compression = .init() }.connect("ws://h/")
    #expect(socket.isCompressing)
    let text = String(repeating: "compress me ", count: 1000)
    var messages = socket.messages.makeAsyncIterator()
    for _ in 0..<3 {
      try await socket.send(text)
      #expect(try await messages.next() == .text(text))
    }
    #expect(try await memoryClient(behavior).connect("ws://h/").isCompressing == false)
    behavior.handshake = .fields([
      .init(name: "Upgrade", value: "websocket"), .init(name: "Connection", value: "upgrade"),
      .init(name: "Sec-WebSocket-Extensions", value: "permessage-deflate"),
    ])
    let error = await #expect(throws: WebSocketError.self) { try await memoryClient(behavior).connect("ws://h/") }
    #expect(error?.code == .protocolViolation)
  }

  @Test("A handshake that is cancelled or times out leaves no connection behind")
  func silence() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.handshake = .silence
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let clock = ManualClock()
    var client = memoryClient(behavior, record: record, clock: clock)
    client.stack.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: .seconds(20))
    let tasks = [client, client].map { client in Task { try await client.connect("ws://h/") } }
    try await record.waitForEvents(count: 2)
    tasks[0].cancel()
    let error = await #expect(throws: WebSocketError.self) { try await tasks[0].value }
    #expect(error?.isCancelled == true)
    #expect(try await record.waitForEvents(count: 3).last == .end)
    let late = await clock.moving(by: .seconds(10)) {
      await #expect(throws: WebSocketError.self) { try await tasks[1].value }
    }
    #expect(late?.code == .totalTimeout)
    try await record.waitForEvents(count: 4)
  }
}
