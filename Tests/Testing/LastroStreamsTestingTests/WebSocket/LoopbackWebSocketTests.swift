// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroTesting
import TestSupport
import Testing

@Suite("Loopback WebSocket server", .timeLimit(.minutes(15)))
struct LoopbackWebSocketTests {
  /// The opening handshake. The key and the response are the example of RFC 6455 §1.3.
  private static let opening =
    "GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
  private static let acceptance =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

  /// Returns a client's frame. Its masking key is all zeros, which leaves the payload unchanged.
  private static func frame(_ opcode: UInt8, _ payload: [UInt8]) -> [UInt8] {
    [0x80 | opcode, 0x80 | UInt8(payload.count), 0, 0, 0, 0] + payload
  }

  /// Sends bytes, finishes writing, and returns all received bytes.
  private func exchange(
    _ text: String = opening, _ frames: [UInt8] = [], record: EventRecorder<LoopbackWebSocketEvent> = .init(),
    longestRead: Int = .max, _ edit: (inout LoopbackWebSocketBehavior) -> Void = { _ in }
  ) async throws -> [UInt8] {
    var behavior = LoopbackWebSocketBehavior()
    edit(&behavior)
    let shape = MemoryStream.Shape(longestRead: longestRead)
    let stream = try await LoopbackWebSocketServer.dialer(shape: shape, record: record, behavior).dial(
      DialRequest(host: "h", port: 80))
    try await stream.write(Data(text.utf8) + frames)
    try await stream.finishWriting()
    var all: [UInt8] = []
    while let bytes = try await stream.read() { all += bytes }
    return all
  }

  private static let conversation =
    frame(1, Array("hi".utf8)) + frame(2, [255]) + frame(9, [7]) + frame(10, [8]) + frame(8, [3, 0xE8])
  private static let answers: [UInt8] =
    [0x81, 2, 0x68, 0x69] + [0x82, 1, 255] + [0x8A, 1, 7] + [0x88, 2, 3, 0xE8]

  private func expectConversation(_ all: [UInt8], _ record: EventRecorder<LoopbackWebSocketEvent>) {
    #expect(all == Array(Self.acceptance.utf8) + Self.answers)
    #expect(record.handshakes.map(\.head.bytes) == [Array(Self.opening.utf8)])
    #expect(record.frames == [.text("hi"), .binary([255]), .ping([7]), .pong([8]), .close(1000, "")])
  }

  @Test("The server accepts, echoes, answers pings and Close, and records everything, in any split")
  func conversation() async throws {
    for longestRead in [1, Int.max] {
      let record = EventRecorder<LoopbackWebSocketEvent>()
      let all = try await exchange(Self.opening, Self.conversation, record: record, longestRead: longestRead)
      expectConversation(all, record)
    }
  }

  @Test("Over a socket the server does the same, and ends the connection after Close")
  func socket() async throws {
    let server = try LoopbackWebSocketServer()
    #expect(server.url == "ws://127.0.0.1:\(server.port)/")
    let client = try LoopbackClient(to: .port(UInt16(server.port)))
    try client.send(Self.opening)
    try client.send(Self.conversation)
    var all: [UInt8] = []
    while case let (bytes, ending) = client.receive(), ending == nil { all += bytes }
    try await server.record.waitForEvents(count: 6)
    expectConversation(all, server.record)
    #expect(server.acceptedConnections == 1)
  }

  @Test("The handshakes of a server have the numbers of their connections, also where they are answered")
  func connections() async throws {
    let answered = EventRecorder<Int>()
    var behavior = LoopbackWebSocketBehavior()
    behavior.onHandshake = { request in
      answered.record(request.connection)
      return nil
    }
    let server = try LoopbackWebSocketServer(behavior)
    for number in 1...2 {
      let client = try LoopbackClient(to: .port(UInt16(server.port)))
      try client.send(Self.opening)
      try await answered.waitForEvents(count: number)
    }
    #expect(server.record.handshakes.map(\.connection) == [1, 2])
    #expect(answered.events == [1, 2])
  }

  @Test("A request that is not a WebSocket handshake gets a 400, and input that is not HTTP is disconnected")
  func noHandshake() async throws {
    let plain = try await exchange("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(String(decoding: plain, as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
    #expect(try await exchange("nonsense\r\n\r\n") == [])
  }

  @Test("Each kind of handshake response is sent as configured")
  func handshakes() async throws {
    let upgrade = RawRequestHead.Field(name: "Upgrade", value: "other")
    let unauthorized = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"
    let cases: [((inout LoopbackWebSocketBehavior) -> Void, String)] = [
      ({ $0.onHandshake = { _ in LoopbackResponse(status: 401, body: Array("no".utf8)) } }, unauthorized),
      ({ $0.onHandshake = { _ in nil } }, Self.acceptance),
      ({ $0.handshake = .bytes(Array("hello".utf8)) }, "hello"), ({ $0.handshake = .silence }, ""),
      (
        { $0.handshake = .fields([upgrade]) },
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n"
          + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
      ),
    ]
    for (edit, expected) in cases {
      let all = try await exchange { edit(&$0) }
      #expect(String(decoding: all, as: UTF8.self) == expected)
    }
    let wrong = String(decoding: try await exchange { $0.handshake = .wrongAccept }, as: UTF8.self)
    #expect(wrong.contains("Sec-WebSocket-Accept: ") && !wrong.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
    let chosen = String(decoding: try await exchange { $0.subprotocol = "chat" }, as: UTF8.self)
    #expect(chosen.contains("\r\nSec-WebSocket-Protocol: chat\r\n"))
  }

  @Test("Actions are sent in order, and nothing after a Close, an end or silence")
  func actions() async throws {
    let cases: [([LoopbackWebSocketBehavior.Action], [UInt8])] = [
      ([.text("a"), .binary([1, 2])], [0x81, 1, 0x61, 0x82, 2, 1, 2]),
      ([.textFragments([[0x61], [0x62], []])], [0x01, 1, 0x61, 0x00, 1, 0x62, 0x80, 0]),
      ([.ping([1]), .pong([2])], [0x89, 1, 1, 0x8A, 1, 2]),
      ([.close(1001, "x"), .text("a")], [0x88, 3, 0x03, 0xE9, 0x78]), ([.fault(.reservedOpcode)], [0x83, 0]),
      ([.bytes([9, 9]), .end, .text("a")], [9, 9]), ([.text("a"), .fallSilent, .text("b")], [0x81, 1, 0x61]),
    ]
    for (greeting, expected) in cases {
      let all = try await exchange { $0.greeting = greeting }
      #expect(Array(all.dropFirst(Self.acceptance.utf8.count)) == expected, "\(greeting)")
    }
    let error = await #expect(throws: TransportError.self) { try await exchange { $0.greeting = [.cut] } }
    #expect(error?.code == .truncatedStream)
  }

  @Test("The server can leave pings and Close unanswered, and send messages in fragments")
  func stubborn() async throws {
    let all = try await exchange(Self.opening, Self.conversation) {
      $0.answersPings = false
      $0.answersClose = false
      $0.fragmentBytes = 1
    }
    #expect(Array(all.dropFirst(Self.acceptance.utf8.count)) == [0x01, 1, 0x68, 0x80, 1, 0x69, 0x82, 1, 255])
  }

  @Test("A client that violates the protocol is recorded, and gets 1002")
  func violation() async throws {
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let all = try await exchange(Self.opening, [0x81, 0], record: record)
    #expect(record.frames.first == .violation("a client did not mask a frame"))
    let close = Array(all.dropFirst(Self.acceptance.utf8.count))
    #expect(close.first == 0x88)
    #expect(close[2..<4] == [0x03, 0xEA])
  }
}
