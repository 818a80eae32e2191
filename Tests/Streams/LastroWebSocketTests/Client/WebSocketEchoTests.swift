// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroStreamsTesting
import LastroTesting
import Testing

@testable import LastroWebSocket

@Suite("WebSocket over memory", .timeLimit(.minutes(15)))
struct WebSocketEchoTests {
  @Test("Text and binary messages are echoed, and both sides send Close")
  func echo() async throws {
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(record: record).connect("ws://example.org/chat?x=1")
    try await socket.send("häl\u{10348}lo")
    try await socket.send(Data([0, 255, 1]))
    try await socket.send("")
    var messages = socket.messages.makeAsyncIterator()
    #expect(try await messages.next() == .text("häl\u{10348}lo"))
    #expect(try await messages.next() == .binary(Data([0, 255, 1])))
    #expect(try await messages.next() == .text(""))
    let close = try await socket.close(reason: "done")
    #expect(close == WebSocketClose(code: .normal, reason: "", isClean: true, initiator: .local))
    #expect(try await messages.next() == nil)
    #expect(
      record.frames.prefix(4) == [.text("häl\u{10348}lo"), .binary([0, 255, 1]), .text(""), .close(1000, "done")])
    let head = try #require(record.handshakes.first).head
    #expect(head.target == "/chat?x=1")
    #expect(head["Host"] == "example.org")
    #expect(head["Upgrade"] == "websocket")
    #expect(head["Sec-WebSocket-Version"] == "13")
  }

  @Test(
    "Messages are echoed in every split of the bytes",
    arguments: [1, 2, 3, 7, 64, 1 << 20], [nil, 1, 5, 1000] as [Int?])
  func cuts(longestRead: Int, fragmentBytes: Int?) async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.fragmentBytes = fragmentBytes
    behavior.compression = longestRead % 2 == 0 ? .init() : nil
    let client = memoryClient(behavior, shape: MemoryStream.Shape(longestRead: longestRead)) {
      $0.compression = .init(minimumBytes: 0)
      $0.maximumOutgoingFrameBytes = 100
    }
    let socket = try await client.connect("ws://h/")
    let texts = ["", "a", String(repeating: "€äx", count: 300), "z"]
    for text in texts { try await socket.send(text) }
    var messages = socket.messages.makeAsyncIterator()
    for text in texts { #expect(try await messages.next() == .text(text)) }
    #expect(try await socket.close().isClean)
  }

  @Test("Every observer gets every message, and a late one gets those after it joined")
  func observers() async throws {
    let socket = try await memoryClient().connect("ws://h/")
    var first = socket.messages.makeAsyncIterator()
    var second = socket.messages.makeAsyncIterator()
    try await socket.send("1")
    #expect(try await first.next() == .text("1"))
    var late = socket.messages.makeAsyncIterator()
    try await socket.send("2")
    #expect(try await late.next() == .text("2"))
    #expect(try await second.next() == .text("1"))
    #expect(try await second.next() == .text("2"))
    #expect(try await first.next() == .text("2"))
    try await socket.close()
    #expect(try await first.next() == nil)
    #expect(try await late.next() == nil)
  }

  @Test("Messages before the first observer are kept for it")
  func early() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.greeting = [.text("hello"), .binary([1]), .close(4000, "bye")]
    let socket = try await memoryClient(behavior).connect("ws://h/")
    #expect(
      try await socket.waitForEnd()
        == WebSocketClose(code: WebSocketCloseCode(rawValue: 4000), reason: "bye", isClean: true, initiator: .remote))
    #expect(try await collect(socket) == [.text("hello"), .binary(Data([1]))])
  }

  @Test("States are reported to every observer from when it joined")
  func states() async throws {
    let socket = try await memoryClient().connect("ws://h/")
    var first = socket.states.makeAsyncIterator()
    guard case .open = await first.next(isolation: #isolation) else { return fails("not open") }
    try await socket.close()
    guard case .closing = await first.next(isolation: #isolation) else { return fails("not closing") }
    guard case .closed = await first.next(isolation: #isolation) else { return fails("not closed") }
    let afterClosed = await first.next(isolation: #isolation)
    #expect(afterClosed == nil)
    var late = socket.states.makeAsyncIterator()
    guard case .closed = await late.next(isolation: #isolation) else { return fails("not closed") }
    let afterLate = await late.next(isolation: #isolation)
    #expect(afterLate == nil)
  }

  @Test("The end is returned to every task that waits for it, also after it")
  func ends() async throws {
    let socket = try await memoryClient().connect("ws://h/")
    #expect(socket.isOpen)
    async let early = socket.waitForEnd()
    let close = try await socket.close()
    #expect(!socket.isOpen && close.isClean && close.initiator == .local)
    let first = try await early
    #expect(first == close)
    #expect(try await socket.waitForEnd() == close)
  }

  @Test("A wait for the end that is cancelled leaves the socket open")
  func cancelledEnd() async throws {
    let socket = try await memoryClient().connect("ws://h/")
    let waiting = Task { try await socket.waitForEnd() }
    waiting.cancel()
    let error = await #expect(throws: WebSocketError.self) { try await waiting.value }
    #expect(error?.word == "cancelled" && socket.isOpen)
  }

  @Test("A message is sent in fragments, with pings in between and other messages after it")
  func fragments() async throws {
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(record: record).connect("ws://h/")
    let (mayEnd, end) = AsyncStream.makeStream(of: Void.self)
    async let other: Void = {
      for await _ in mayEnd {}
      try await socket.send("other")
    }()
    try await socket.send(
      fragments: Pieces<String> { number in
        let words = ["one ", "two ", "three"]
        guard number < words.count else { return nil }
        if number > 0 { try await socket.ping() }
        if number == 1 { end.finish() }
        return words[number]
      })
    try await other
    var messages = socket.messages.makeAsyncIterator()
    #expect(try await messages.next() == .text("one two three"))
    #expect(try await messages.next() == .text("other"))
    let pings = record.frames.filter { if case .ping = $0 { true } else { false } }
    #expect(pings.count == 2)
    #expect(record.frames.last == .text("other"))
  }

  @Test("Abandoning a message midway ends the socket, and the server is notified")
  func abandoned() async throws {
    struct Stop: Error {}
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(record: record).connect("ws://h/")
    await #expect(throws: Stop.self) {
      try await socket.send(
        fragments: Pieces<Data> { number in
          if number == 0 { return Data([1]) }
          throw Stop()
        })
    }
    guard case .failed(let error) = socket.state else { return fails("\(socket.state)") }
    #expect(error.word == "messageAbandoned")
    let events = try await record.waitForEvents(count: 2)
    #expect(events.dropFirst().first == .close(1011, ""))
  }

  @Test("A sequence becomes one message")
  func sequences() async throws {
    let socket = try await memoryClient().connect("ws://h/")
    let (pieces, source) = AsyncStream.makeStream(of: String.self)
    for piece in ["a", "", "b", "ü"] { source.yield(piece) }
    source.finish()
    try await socket.send(fragments: pieces)
    var messages = socket.messages.makeAsyncIterator()
    #expect(try await messages.next() == .text("abü"))
  }

  @Test("A large message can be read in fragments beyond the limit for whole messages")
  func pieces() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.fragmentBytes = 100_000
    let socket = try await memoryClient(behavior) {
      $0.maximumFragmentedMessageBytes = 10_000_000
      $0.maximumMessageBytes = 1000
    }.connect("ws://h/")
    var fragments = socket.fragments.makeAsyncIterator()
    let data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    async let sent: Void = socket.send(data)
    var received = Data()
    while let piece = try await fragments.next() {
      #expect(piece.isFirst == received.isEmpty)
      #expect(piece.data.count <= 65_536)
      received += piece.data
      if piece.isFinal { break }
    }
    try await sent
    #expect(received == data)
  }

  @Test("Dropping the last reference ends the connection")
  func drop() async throws {
    let record = EventRecorder<LoopbackWebSocketEvent>()
    var socket: WebSocket? = try await memoryClient(record: record).connect("ws://h/")
    let core = try #require(socket).core
    socket = nil
    let events = try await record.waitForEvents(count: 2)
    #expect(events.last == .end)
    let error = await #expect(throws: WebSocketError.self) { try await core.ended() }
    #expect(error?.word == "dropped")
  }
}

/// Returns a client of a loopback server in memory. Its time advances only if the test moves `clock`; without a clock,
/// it has the real time.
func memoryClient(
  _ behavior: LoopbackWebSocketBehavior = LoopbackWebSocketBehavior(),
  record: EventRecorder<LoopbackWebSocketEvent> = .init(), shape: MemoryStream.Shape = MemoryStream.Shape(),
  clock: ManualClock? = ManualClock(), _ configure: (inout WebSocketConfiguration) -> Void = { _ in }
) -> WebSocketClient {
  memoryClient(
    over: LoopbackWebSocketServer.dialer(shape: shape, record: record, behavior), clock: clock, configure)
}

/// Returns a client over a dialer.
func memoryClient(
  over dialer: any Dialer, clock: ManualClock? = ManualClock(),
  _ configure: (inout WebSocketConfiguration) -> Void = { _ in }
) -> WebSocketClient {
  var configuration = WebSocketConfiguration()
  configuration.keepAlive = nil
  configure(&configuration)
  var stack = StackConfiguration()
  if let clock { stack.timeSource = clock.timeSource }
  return WebSocketClient(dialer: dialer, configuration: configuration, stack: stack)
}

/// Waits for the end of a socket, and returns its last state.
func end(of socket: WebSocket) async -> WebSocketState {
  _ = try? await socket.waitForEnd()
  return socket.state
}

/// Returns all messages up to the end.
func collect(_ socket: WebSocket) async throws -> [WebSocketMessage] {
  var result: [WebSocketMessage] = []
  for try await message in socket.messages { result.append(message) }
  return result
}

extension WebSocketError {
  /// The name of the reason's case, without its values.
  var word: String { String("\(reason)".prefix { $0 != "(" }) }
}

/// Records an issue in a test that cannot continue.
func fails(_ text: String) { Issue.record(Comment(rawValue: text)) }
