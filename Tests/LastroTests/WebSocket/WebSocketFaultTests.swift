// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroTesting
import Testing

@Suite("WebSocket servers that break rules", .timeLimit(.minutes(60)))
struct WebSocketFaultTests {
  @Test(
    "a broken rule fails the socket, and the server is told the right code",
    arguments: LoopbackWebSocketBehavior.Fault.allCases, [1, .max])
  func fault(_ fault: LoopbackWebSocketBehavior.Fault, longestRead: Int) async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.greeting = [.text("before"), .fault(fault)]
    let record = LoopbackWebSocketRecord()
    let socket = try await webSocketClient(behavior, record: record, shape: .init(longestRead: longestRead))
      .connect("ws://h/")
    var messages = socket.messages.makeAsyncIterator()
    #expect(try await messages.next() == .text("before"))
    let error = await #expect(throws: WebSocketError.self) { try await messages.next() }
    #expect(error?.word == (fault == .hugeFrame ? "messageTooLarge" : "protocolViolation"))
    let events = try await record.waitForEvents(count: 2)
    #expect(events.dropFirst().first == .close(fault.expectedCode, ""))
    let late = await #expect(throws: WebSocketError.self) { try await socket.send("late") }
    #expect(late?.word == error?.word)
  }

  @Test("what came before a broken rule is answered before the server is told")
  func answersFirst() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.greeting = [.text("a"), .ping([1]), .text("b"), .fault(.reservedOpcode)]
    behavior.onMessage = { _ in [] }
    let record = LoopbackWebSocketRecord()
    let socket = try await webSocketClient(behavior, record: record).connect("ws://h/")
    let error = await #expect(throws: WebSocketError.self) {
      for try await message in socket.messages { try await socket.send(message) }
    }
    #expect(error?.word == "protocolViolation")
    let frames = try await record.waitForEvents(count: 5).dropFirst()
    #expect(frames.filter { $0 != .pong([1]) }.prefix(3) == [.text("a"), .text("b"), .close(1002, "")])
  }

  @Test("messages beyond the limit are refused, whole, in fragments, and after decompression")
  func tooLarge() async throws {
    for (fragmentBytes, compression) in [(nil, nil), (10, nil), (nil, .init()), (40, .init())]
      as [(Int?, LoopbackWebSocketBehavior.Compression?)]
    {
      var behavior = LoopbackWebSocketBehavior()
      behavior.fragmentBytes = fragmentBytes
      behavior.compression = compression
      behavior.greeting = [.text(String(repeating: "x", count: 100)), .text(String(repeating: "y", count: 101))]
      let record = LoopbackWebSocketRecord()
      let socket = try await webSocketClient(behavior, record: record) {
        $0.maximumMessageBytes = 100
        $0.compression = .init()
      }.connect("ws://h/")
      var messages = socket.messages.makeAsyncIterator()
      #expect(try await messages.next() == .text(String(repeating: "x", count: 100)))
      let error = await #expect(throws: WebSocketError.self) { try await messages.next() }
      #expect(error?.word == "messageTooLarge")
      #expect(try await record.waitForEvents(count: 2).dropFirst().first == .close(1009, ""))
    }
  }

  @Test("an end without a Close frame is a lost connection, whether cut or in order")
  func lost() async throws {
    for action in [LoopbackWebSocketBehavior.Action.end, .cut] {
      var behavior = LoopbackWebSocketBehavior()
      behavior.greeting = [.text("x"), action]
      let socket = try await webSocketClient(behavior).connect("ws://h/")
      var messages = socket.messages.makeAsyncIterator()
      #expect(try await messages.next() == .text("x"))
      let error = await #expect(throws: WebSocketError.self) { try await messages.next() }
      #expect(error?.word == "connectionLost")
      if action == .cut { #expect(error?.code == .truncatedStream) }
    }
  }

  @Test("a server that does not answer Close is cut off at the deadline")
  func noClose() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.answersClose = false
    let clock = ManualClock()
    let record = LoopbackWebSocketRecord()
    let socket = try await webSocketClient(behavior, record: record, clock: clock).connect("ws://h/")
    async let close = socket.close()
    try await record.waitForEvents(count: 2)
    // The limit may not be watched yet: time is moved until it is.
    let mover = Task {
      while !Task.isCancelled {
        clock.advance(by: .seconds(10))
        await Task.yield()
      }
    }
    #expect(try await close == WebSocketClose(code: nil, reason: "", isClean: false, initiator: .local))
    mover.cancel()
    #expect(try await record.waitForEvents(count: 3).last == .end)
  }

  @Test("once closed, everything is refused with the way it ended")
  func closed() async throws {
    let socket = try await webSocketClient().connect("ws://h/")
    let close = try await socket.close()
    for error in [
      await #expect(throws: WebSocketError.self) { try await socket.send("x") },
      await #expect(throws: WebSocketError.self) { try await socket.ping() },
      #expect(throws: WebSocketError.self) { try socket.pong(Data()) },
    ] {
      guard case .closed(let told) = error?.reason else {
        Issue.record("\(String(describing: error))")
        continue
      }
      #expect(told == close)
    }
    #expect(try await socket.close() == close)
  }

  @Test("a send that is cancelled while it waits sends nothing; the socket goes on")
  func cancelledSend() async throws {
    let (near, far) = MemoryStream.pair(MemoryStream.Shape(capacity: 1024))
    let dialer = SocketStreamDialer(near)
    let record = LoopbackWebSocketRecord()
    var configuration = WebSocketConfiguration()
    configuration.keepAlive = nil
    let gate = Gate()
    let server = Task {
      try await LoopbackWebSocketServer.serve(GatedStream(far, gate), record: record)
    }
    let socket = try await WebSocketClient(dialer: dialer, configuration: configuration).connect("ws://h/")
    gate.close()
    // The first blocks the stream, the second waits behind it.
    let big = Data(count: 100_000)
    let first = Task { try await socket.send(big) }
    let second = Task { try await socket.send("never") }
    second.cancel()
    let error = await #expect(throws: WebSocketError.self) { try await second.value }
    #expect(error?.word == "cancelled")
    first.cancel()
    let firstError = await #expect(throws: WebSocketError.self) { try await first.value }
    #expect(firstError?.word == "cancelled")
    gate.open()
    try await socket.send("after")
    try await socket.close()
    try await server.value
    // What was begun was ended; what was not begun was never sent.
    #expect(record.frames.filter { $0 != .binary(Array(big)) } == [.text("after"), .close(1000, "")])
  }
}
