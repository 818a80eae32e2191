// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroWebSocket
import Testing

@Suite("WebSocket control frames", .timeLimit(.minutes(15)))
struct WebSocketControlTests {
  @Test("A ping returns its pong, with its own payload or the caller's")
  func ping() async throws {
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(record: record).connect("ws://h/")
    #expect(try await socket.exchangePing(Data("abc".utf8)).payload == Data("abc".utf8))
    let own = try await socket.exchangePing()
    #expect(own.payload.count == 8)
    #expect(record.frames == [.ping(Array("abc".utf8)), .ping(Array(own.payload))])
  }

  @Test("A ping returns the time until its pong arrived")
  func roundTrip() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.answersPings = false
    behavior.onMessage = { _ in [.pong([1])] }
    let clock = ManualClock()
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(behavior, record: record, clock: clock).connect("ws://h/")
    async let roundTrip = socket.ping(Data([1]), within: nil)
    try await record.waitForEvents(count: 2)
    clock.advance(by: .seconds(2))
    try await socket.send("now")
    #expect(try await roundTrip == .seconds(2))
    socket.cut()
  }

  @Test("A pong for a later ping answers earlier ones, and an unsolicited pong answers none")
  func order() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.answersPings = false
    behavior.onMessage = { _ in [.pong([9]), .pong([2])] }
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(behavior, record: record).connect("ws://h/")
    async let first = socket.exchangePing(Data([1]), within: nil)
    try await record.waitForEvents(count: 2)
    async let second = socket.exchangePing(Data([2]), within: nil)
    try await record.waitForEvents(count: 3)
    try await socket.send("now")
    #expect(try await first.payload == Data([1]))
    #expect(try await second.payload == Data([2]))
    socket.cut()
  }

  @Test("A ping without a pong ends at its limit, and the socket stays open")
  func limit() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.answersPings = false
    let socket = try await memoryClient(behavior, clock: nil).connect("ws://h/")
    let error = await #expect(throws: WebSocketError.self) { try await socket.ping(within: .milliseconds(1)) }
    #expect(error?.word == "timedOut")
    try await socket.send("still here")
    var messages = socket.messages.makeAsyncIterator()
    #expect(try await messages.next() == .text("still here"))
  }

  @Test("A cancelled ping does not take the pong of a later one with the same payload")
  func samePayload() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.answersPings = false
    behavior.onMessage = { _ in [.pong([1]), .close(1000, "")] }
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(behavior, record: record).connect("ws://h/")
    let first = Task { try await socket.ping(Data([1]), within: nil) }
    try await record.waitForEvents(count: 2)
    first.cancel()
    let error = await #expect(throws: WebSocketError.self) { try await first.value }
    #expect(error?.word == "cancelled")
    async let second = socket.exchangePing(Data([1]), within: nil)
    try await record.waitForEvents(count: 3)
    try await socket.send("now")
    #expect(try await second.payload == Data([1]))
  }

  @Test("Pings of the server are answered automatically, in order, at least the latest")
  func automaticPong() async throws {
    for count in [10, 1000] {
      var behavior = LoopbackWebSocketBehavior()
      behavior.greeting = (0..<count).map { .ping([UInt8($0 >> 8), UInt8($0 & 255)]) }
      let record = EventRecorder<LoopbackWebSocketEvent>()
      let socket = try await memoryClient(behavior, record: record).connect("ws://h/")
      try await socket.ping()
      let last = LoopbackWebSocketEvent.pong([UInt8((count - 1) >> 8), UInt8((count - 1) & 255)])
      var events = record.events
      while !events.contains(last) { events = try await record.waitForEvents(count: events.count + 1) }
      let pongs = events.compactMap {
        if case .pong(let payload) = $0 { Int(payload[0]) << 8 | Int(payload[1]) } else { nil }
      }
      #expect(pongs == pongs.sorted() && Set(pongs).count == pongs.count)
      if count == 10 { #expect(pongs == Array(0..<10)) }
      socket.cut()
    }
  }

  @Test("With automatic pongs off, pings are reported and answered only explicitly")
  func manualPong() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onMessage = { _ in [.ping([7])] }
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(behavior, record: record) { $0.answersPings = false }.connect("ws://h/")
    var pings = socket.pings.makeAsyncIterator()
    try await socket.send("ping me")
    let ping = await pings.next(isolation: #isolation)
    #expect(ping == Data([7]))
    try socket.pong(Data([8]))
    let events = try await record.waitForEvents(count: 3)
    #expect(events.dropFirst() == [.text("ping me"), .pong([8])])
    socket.cut()
  }

  @Test("A keep-alive ping is sent at each interval, and its pong keeps the socket open")
  func keepAlive() async throws {
    let clock = ManualClock()
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(record: record, clock: clock) { $0.keepAlive = .seconds(25) }
      .connect("ws://h/")
    for round in 1...3 {
      try await clock.waitForSleepers(count: 1)
      clock.advance(by: .seconds(25))
      try await record.waitForEvents(count: 2 * round)
      // The keep-alive ping's pong has arrived once that of a later ping has.
      try await socket.ping()
    }
    #expect(socket.isOpen, "\(socket.state)")
  }

  @Test("A server that sends no pong is given up when the next ping is due")
  func silent() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.answersPings = false
    let clock = ManualClock()
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let socket = try await memoryClient(behavior, record: record, clock: clock) { $0.keepAlive = .seconds(25) }
      .connect("ws://h/")
    for _ in 1...2 {
      try await clock.waitForSleepers(count: 1)
      clock.advance(by: .seconds(25))
      try await record.waitForEvents(count: 2)
    }
    let error = await #expect(throws: WebSocketError.self) { try await collect(socket) }
    #expect(error?.word == "keepAliveFailed")
  }

  @Test("Arguments that cannot be sent are refused with a hint")
  func arguments() async throws {
    let socket = try await memoryClient().connect("ws://h/")
    for error in [
      await #expect(throws: WebSocketError.self) { try await socket.ping(Data(count: 126)) },
      #expect(throws: WebSocketError.self) { try socket.pong(Data(count: 126)) },
      await #expect(throws: WebSocketError.self) { try await socket.close(.init(rawValue: 1005)) },
      await #expect(throws: WebSocketError.self) { try await socket.close(.init(rawValue: 5000)) },
      await #expect(throws: WebSocketError.self) { try await socket.close(nil, reason: "x") },
      await #expect(throws: WebSocketError.self) {
        try await socket.close(reason: String(repeating: "ü", count: 62))
      },
    ] {
      #expect(error?.word == "invalidArgument")
      #expect(error?.hint != nil)
    }
    #expect(socket.isOpen, "\(socket.state)")
  }
}
