// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Lastro
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroTransports
import LastroWebSocket
import Testing

@Suite("WebSocket as a framer", .timeLimit(.minutes(15)))
struct WebSocketProtocolTests {
  private func open(
    _ behavior: LoopbackWebSocketBehavior = .init(), record: EventRecorder<LoopbackWebSocketEvent> = .init(),
    longestRead: Int = .max, autoReplyPing: Bool = false
  ) -> NetworkConnection {
    var options = WebSocketProtocol.Options()
    options.autoReplyPing = autoReplyPing
    options.url = "ws://example.org/chat"
    let parameters = ConnectionParameters.webSocket(options)
    // A slow machine must not fail a test.
    parameters.connectTimeout = nil
    parameters.stopTimeout = .seconds(3600)
    return NetworkConnection(
      to: .hostPort(host: "example.org", port: 80), using: parameters,
      dialer: LoopbackWebSocketServer.dialer(shape: .init(longestRead: longestRead), record: record, behavior))
  }

  private func send(
    _ connection: NetworkConnection, _ metadata: WebSocketProtocol.Metadata, _ text: String, isComplete: Bool = true
  ) async -> ConnectionError? {
    let answer = OneAnswer<ConnectionError?>()
    connection.send(
      content: Data(text.utf8), contentContext: .init(identifier: "test", metadata: [metadata]),
      isComplete: isComplete, completion: .contentProcessed { answer.give($0) })
    return await answer.value()
  }

  private func receive(_ connection: NetworkConnection) async -> (WebSocketProtocol.Metadata?, String) {
    let answer = OneAnswer<(WebSocketProtocol.Metadata?, String)>()
    connection.receiveMessage { data, context, _, _ in
      let metadata = context?.protocolMetadata(definition: WebSocketProtocol.definition)
      answer.give((metadata as? WebSocketProtocol.Metadata, String(decoding: data ?? Data(), as: UTF8.self)))
    }
    return await answer.value()
  }

  @Test("Messages are sent and received with their metadata, in every split", arguments: [1, 2, 5, .max])
  func messages(longestRead: Int) async throws {
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let connection = open(record: record, longestRead: longestRead)
    connection.start(queue: .global())
    #expect(await send(connection, .init(opcode: .text), "grüße") == nil)
    #expect(await send(connection, .init(opcode: .text), "in ", isComplete: false) == nil)
    #expect(await send(connection, .init(opcode: .cont), "pieces") == nil)
    #expect(await send(connection, .init(opcode: .binary), "bytes") == nil)
    for (opcode, text) in [(WebSocketProtocol.Opcode.text, "grüße"), (.text, "in pieces"), (.binary, "bytes")] {
      let (metadata, received) = await receive(connection)
      #expect(metadata?.opcode == opcode)
      #expect(received == text)
    }
    #expect(record.handshakes.first?.target == "/chat")
    #expect(record.handshakes.first?.head["Host"] == "example.org")
    connection.cancel()
    #expect(try await record.waitForEvents(count: 5).last == .close(1000, ""))
  }

  @Test(
    "A pong handler is called for its ping, and pings are delivered or answered automatically",
    arguments: [true, false])
  func pings(autoReplyPing: Bool) async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onMessage = { [.ping([0x70]), $0.echo] }
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let connection = open(behavior, record: record, autoReplyPing: autoReplyPing)
    connection.start(queue: .global())
    let pong = OneAnswer<ConnectionError?>()
    let ping = WebSocketProtocol.Metadata(opcode: .ping)
    ping.setPongHandler(.global()) { pong.give($0) }
    connection.send(
      content: Data("ping".utf8), contentContext: .init(identifier: "ping", metadata: [ping]), isComplete: true,
      completion: .idempotent)
    #expect(await pong.value() == nil)
    #expect(await send(connection, .init(opcode: .text), "x") == nil)
    if !autoReplyPing {
      let (metadata, payload) = await receive(connection)
      #expect(metadata?.opcode == .ping && payload == "p")
    }
    let (metadata, text) = await receive(connection)
    #expect(metadata?.opcode == .text && text == "x")
    if autoReplyPing { #expect(try await record.waitForEvents(count: 4).last == .pong([0x70])) }
    connection.cancel()
  }

  @Test("A Close frame is received with its code and reason, and sent with ours")
  func close() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onMessage = { _ in [.close(4000, "bye")] }
    let connection = open(behavior)
    connection.start(queue: .global())
    #expect(await send(connection, .init(opcode: .text), "x") == nil)
    let (metadata, reason) = await receive(connection)
    #expect(metadata?.opcode == .close && metadata?.closeCode.rawValue == 4000 && reason == "bye")
    let record = EventRecorder<LoopbackWebSocketEvent>()
    let other = open(record: record)
    other.start(queue: .global())
    let own = WebSocketProtocol.Metadata(opcode: .close)
    own.closeCode = .goingAway
    #expect(await send(other, own, "leaving") == nil)
    #expect(try await record.waitForEvents(count: 2).last == .close(1001, "leaving"))
    #expect(await send(other, .init(opcode: .text), "late") != nil)
    connection.cancel()
    other.cancel()
  }

  @Test("Data that a frame cannot carry fails its send alone")
  func refused() async {
    let connection = open()
    connection.start(queue: .global())
    #expect(await send(connection, .init(opcode: .ping), String(repeating: "x", count: 126)) != nil)
    let close = WebSocketProtocol.Metadata(opcode: .close)
    close.closeCode = .init(rawValue: 1005)
    #expect(await send(connection, close, "x") != nil)
    #expect(await send(connection, .init(opcode: .text), "fine") == nil)
    #expect(await receive(connection).1 == "fine")
    connection.cancel()
  }

  @Test("A server that refuses, or violates the protocol, fails the connection")
  func failures() async {
    var refusing = LoopbackWebSocketBehavior()
    refusing.onHandshake = { _ in LoopbackResponse(status: 401) }
    var wrong = LoopbackWebSocketBehavior()
    wrong.handshake = .wrongAccept
    var breaking = LoopbackWebSocketBehavior()
    breaking.greeting = [.fault(.reservedOpcode)]
    for (behavior, code) in [
      (refusing, FailureCode.unexpectedStatus), (wrong, .protocolViolation), (breaking, .protocolViolation),
    ] {
      let connection = open(behavior)
      let failure = OneAnswer<ConnectionError>()
      connection.stateUpdateHandler = { if case .failed(let error) = $0 { failure.give(error) } }
      connection.start(queue: .global())
      #expect(await failure.value().cause?.code == code)
    }
  }
}
