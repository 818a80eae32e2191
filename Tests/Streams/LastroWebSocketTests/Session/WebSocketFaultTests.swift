// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroWebSocket
import TestSupport
import Testing

@Suite("WebSocket servers that violate the protocol", .timeLimit(.minutes(15)))
struct WebSocketFaultTests {
  @Test(
    "A violation fails the socket, and the server gets the right code",
    arguments: LoopbackWebSocketBehavior.Fault.allCases, [1, .max])
  func fault(_ fault: LoopbackWebSocketBehavior.Fault, longestRead: Int) async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.greeting = [.text("before"), .fault(fault)]
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(behavior, record: record, shape: .init(longestRead: longestRead))
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

  @Test("Messages before a violation are answered before the server is notified")
  func answersFirst() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.greeting = [.text("a"), .ping([1]), .text("b"), .fault(.reservedOpcode)]
    behavior.onMessage = { _ in [] }
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(behavior, record: record).connect("ws://h/")
    let error = await #expect(throws: WebSocketError.self) {
      for try await message in socket.messages { try await socket.send(message) }
    }
    #expect(error?.word == "protocolViolation")
    let frames = try await record.waitForEvents(count: 5).dropFirst()
    #expect(frames.filter { $0 != .pong([1]) }.prefix(3) == [.text("a"), .text("b"), .close(1002, "")])
  }

  @Test("Messages beyond the limit are refused, whole, in fragments, and after decompression")
  func tooLarge() async throws {
    for (fragmentBytes, compression) in [(nil, nil), (10, nil), (nil, .init()), (40, .init())]
      as [(Int?, LoopbackWebSocketBehavior.Compression?)]
    {
      var behavior = LoopbackWebSocketBehavior()
      behavior.fragmentBytes = fragmentBytes
      behavior.compression = compression
      behavior.greeting = [.text(String(repeating: "x", count: 100)), .text(String(repeating: "y", count: 101))]
      let record = EventRecorder<LoopbackWebSocketEvent>()
      let socket = try await memoryClient(behavior, record: record) {
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

  @Test("A message that grows when it is compressed is limited by its original size")
  func incompressible() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.compression = .init()
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<1000).map { _ in UInt8.random(in: 0...255, using: &random) }
    behavior.greeting = [.binary(bytes)]
    let socket = try await memoryClient(behavior) {
      $0.maximumMessageBytes = 1000
      $0.compression = .init()
    }.connect("ws://h/")
    var messages = socket.messages.makeAsyncIterator()
    #expect(try await messages.next() == .binary(Data(bytes)))
  }

  /// Returns a socket of a server that neither reads nor writes while the gate is closed.
  private func gated(
    _ gate: Watched<Bool>, _ behavior: LoopbackWebSocketBehavior = .init(),
    record: EventRecorder<LoopbackWebSocketEvent> = .init()
  ) async throws -> (socket: WebSocket, stream: ToldStream) {
    let (near, far) = MemoryStream.pair()
    let stream = ToldStream(near)
    Task {
      try? await LoopbackWebSocketServer.serve(GatedStream(far, gate), record: record, behavior)
      far.close()
    }
    return (try await memoryClient(over: GivenStreamDialer(stream)).connect("ws://h/"), stream)
  }

  @Test("Late fragments are refused and do not affect a closing socket")
  func lateFragments() async throws {
    let gate = Watched(true)
    let (socket, _) = try await gated(gate)
    gate.change { $0 = false }
    let closing = Task { try await socket.close() }
    while socket.isOpen { await Task.yield() }
    let error = await #expect(throws: WebSocketError.self) {
      try await socket.send(fragments: Pieces<String> { $0 == 0 ? "late" : nil })
    }
    #expect(error?.word == "closed")
    gate.change { $0 = true }
    #expect(try await closing.value.isClean)
  }

  @Test("After an abandoned message the server may end the connection, so it surely gets the Close")
  func abandonedInOrder() async throws {
    struct Stop: Error {}
    let gate = Watched(true)
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let (socket, stream) = try await gated(gate, record: record)
    await #expect(throws: Stop.self) {
      try await socket.send(
        fragments: Pieces<String> { number in
          if number == 0 { return "a" }
          gate.change { $0 = false }
          throw Stop()
        })
    }
    var told = stream.told.makeAsyncIterator()
    #expect(await told.next() == "finish")
    gate.change { $0 = true }
    var word = await told.next()
    while word == "finish" { word = await told.next() }
    #expect(word == "end")
    #expect(record.frames == [.close(1011, "")])
  }

  @Test("When writing fails, the server's data and Close frame are still read")
  func brokenWriting() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onMessage = { _ in [.text("last words"), .close(4001, "full")] }
    let (near, far) = MemoryStream.pair()
    let stream = ToldStream(near)
    let gate = Watched(true)
    let record = EventRecorder<LoopbackWebSocketEvent>()
    Task { [behavior] in
      try? await LoopbackWebSocketServer.serve(far, record: record, behavior)
      far.close()
    }
    let socket = try await memoryClient(
      over: GivenStreamDialer(GatedStream(stream, gate, gatesWriting: false))
    ).connect("ws://h/")
    gate.change { $0 = false }
    try await socket.send("go")
    stream.isBroken.withLock { $0 = true }
    for _ in 0..<2 {
      let error = await #expect(throws: WebSocketError.self) { try await socket.send("x") }
      #expect(error?.word == "connectionLost" && error?.code == .sendFailed)
    }
    gate.change { $0 = true }
    #expect(try await collect(socket) == [.text("last words")])
    guard case .closed(let close) = await end(of: socket) else { return fails("\(socket.state)") }
    #expect(close.code?.rawValue == 4001 && close.reason == "full" && !close.isClean && close.initiator == .remote)
  }

  @Test("When writing fails and the server sends nothing more, the socket fails with the reason")
  func brokenForGood() async throws {
    let (near, far) = MemoryStream.pair()
    let stream = ToldStream(near)
    Task {
      try? await LoopbackWebSocketServer.serve(far, record: .init())
      far.close()
    }
    let clock = ManualClock()
    let socket = try await memoryClient(over: GivenStreamDialer(stream), clock: clock).connect("ws://h/")
    stream.isBroken.withLock { $0 = true }
    await #expect(throws: WebSocketError.self) { try await socket.send("x") }
    let state = await clock.moving(by: .seconds(1)) { await end(of: socket) }
    guard case .failed(let error) = state else { return fails("\(socket.state)") }
    #expect(error.word == "connectionLost" && error.code == .sendFailed)
  }

  @Test("An end without a Close frame is a lost connection, whether cut or clean")
  func lost() async throws {
    for action in [LoopbackWebSocketBehavior.Action.end, .cut] {
      var behavior = LoopbackWebSocketBehavior()
      behavior.greeting = [.text("x"), action]
      let socket = try await memoryClient(behavior).connect("ws://h/")
      var messages = socket.messages.makeAsyncIterator()
      #expect(try await messages.next() == .text("x"))
      let error = await #expect(throws: WebSocketError.self) { try await messages.next() }
      #expect(error?.word == "connectionLost")
      if action == .cut { #expect(error?.code == .truncatedStream) }
    }
  }

  @Test("A server that does not answer Close is cut off at the deadline")
  func noClose() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.answersClose = false
    let clock = ManualClock()
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(behavior, record: record, clock: clock).connect("ws://h/")
    let closing = Task { try await socket.close() }
    try await record.waitForEvents(count: 2)
    let close = try await clock.moving(by: .seconds(10)) { try await closing.value }
    #expect(close == WebSocketClose(code: nil, reason: "", isClean: false, initiator: .local))
    #expect(try await record.waitForEvents(count: 3).last == .end)
  }

  @Test("A closed socket refuses every call with the way it ended")
  func closed() async throws {
    let socket = try await memoryClient().connect("ws://h/")
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

  @Test("A send that is cancelled while it waits sends nothing, and the socket stays open")
  func cancelledSend() async throws {
    let (near, far) = MemoryStream.pair(MemoryStream.Shape(capacity: 1024))
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let gate = Watched(true)
    let server = Task {
      try await LoopbackWebSocketServer.serve(GatedStream(far, gate), record: record)
    }
    let socket = try await memoryClient(over: GivenStreamDialer(near)).connect("ws://h/")
    gate.change { $0 = false }
    // The first send blocks the stream, and the second waits for it.
    let big = Data(count: 100_000)
    let first = Task { try await socket.send(big) }
    let second = Task { try await socket.send("never") }
    second.cancel()
    let error = await #expect(throws: WebSocketError.self) { try await second.value }
    #expect(error?.word == "cancelled")
    first.cancel()
    let firstError = await #expect(throws: WebSocketError.self) { try await first.value }
    #expect(firstError?.word == "cancelled")
    gate.change { $0 = true }
    try await socket.send("after")
    try await socket.close()
    try await server.value
    // The send that had begun was completed. The one that had not begun was never sent.
    #expect(record.frames.filter { $0 != .binary(Array(big)) } == [.text("after"), .close(1000, "")])
  }
}

/// A stream that reads and writes, or only reads, while the gate is open. Data that was read while the gate closed is
/// held back, too.
private final class GatedStream: ByteStream {
  private let stream: any ByteStream
  private let gate: Watched<Bool>
  private let gatesWriting: Bool

  init(_ stream: any ByteStream, _ gate: Watched<Bool>, gatesWriting: Bool = true) {
    self.stream = stream
    self.gate = gate
    self.gatesWriting = gatesWriting
  }

  var facts: StreamFacts { stream.facts }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    _ = await gate.wait { $0 }
    let data = try await stream.read(upTo: maximum, within: limit)
    _ = await gate.wait { $0 }
    return data
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    if gatesWriting { _ = await gate.wait { $0 } }
    try await stream.write(data, within: limit)
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await stream.finishWriting(within: limit)
  }

  func close() { stream.close() }
}
