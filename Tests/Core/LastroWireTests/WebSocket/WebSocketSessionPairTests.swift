// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroWire

@Suite("WebSocket sessions, client against server", .ownThread)
struct WebSocketSessionPairTests {
  private static func pair(_ random: inout SeededGenerator) -> (client: SessionHistory, server: SessionHistory) {
    var deflate: WebSocketDeflate?
    if Bool.random(using: &random) {
      var agreed = WebSocketDeflate()
      agreed.clientNoContextTakeover = Bool.random(using: &random)
      agreed.serverNoContextTakeover = Bool.random(using: &random)
      agreed.clientWindowBits = Int.random(in: 8...15, using: &random)
      agreed.serverWindowBits = Int.random(in: 9...15, using: &random)
      deflate = agreed
    }
    let frame = [1, 7, 100, 70_000].randomElement(using: &random) ?? 1
    let buffer = [1, 300, 1 << 20].randomElement(using: &random) ?? 1
    let configure: (inout WebSocketSession.Configuration) -> Void = {
      $0.minimumCompressedBytes = 0
      $0.maximumOutgoingFrameBytes = frame
      $0.receiveBufferBytes = buffer
    }
    return (SessionHistory(.client, deflate: deflate, configure), SessionHistory(.server, deflate: deflate, configure))
  }

  private static func message(_ random: inout SeededGenerator) -> SessionHistory.Note {
    let count = [0, 1, 125, 126, 300, 66_000].randomElement(using: &random) ?? 0
    if Bool.random(using: &random) { return .binary(random.bytes(min(count, 3000))) }
    return .text(String(repeating: "aä€\u{10348}", count: min(count, 300) / 4))
  }

  private static func send(_ note: SessionHistory.Note, _ lab: SessionHistory) {
    switch note {
    case .text(let text): lab.send(text)
    case .binary(let bytes): lab.send(.binary, bytes)
    case .ping(let payload): lab.ping(payload)
    case .pong(let payload): _ = lab.session.pong(payload)
    }
  }

  private static func messages(_ notes: [SessionHistory.Note]) -> [SessionHistory.Note] {
    notes.filter {
      switch $0 {
      case .text, .binary: true
      case .ping, .pong: false
      }
    }
  }

  @Test("Everything that one side sends reaches the other, in pieces of any kind", arguments: 0..<60)
  func conversation(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    let (client, server) = Self.pair(&random)
    var sent: (client: [SessionHistory.Note], server: [SessionHistory.Note]) = ([], [])
    var pings: [(SessionHistory, UInt64)] = []
    let isByteByByte = seed % 3 == 0
    var splits = SeededGenerator(seed: UInt64(seed) + 1)
    func piece() -> Int { isByteByByte ? 1 : Int.random(in: 1...500, using: &splits) }
    for _ in 0..<8 {
      let fromClient = Self.message(&random), fromServer = Self.message(&random)
      sent.client.append(fromClient)
      sent.server.append(fromServer)
      Self.send(fromClient, client)
      Self.send(fromServer, server)
      pings.append((client, client.ping(random.bytes(4))))
      pings.append((server, server.ping(random.bytes(5))))
      if Bool.random(using: &random) { SessionHistory.converse(client, server, atMost: piece) }
    }
    SessionHistory.converse(client, server, atMost: piece)
    #expect(Self.messages(server.notes) == sent.client)
    #expect(Self.messages(client.notes) == sent.server)
    for (lab, id) in pings { #expect(lab.answers[id]?.count == 1) }
    let closer = seed % 2 == 0 ? client : server
    closer.close(4000, "done")
    SessionHistory.converse(client, server, atMost: piece)
    for (lab, initiator) in [
      (closer, WebSocketSession.Initiator.local), (closer === client ? server : client, .remote),
    ] {
      let reason = initiator == .remote ? "done" : ""
      #expect(
        lab.states == [.closing, .closed(.init(code: 4000, reason: reason, isClean: true, initiator: initiator))])
      #expect(lab.isStreamClosed && lab.illegalEvent == nil)
    }
  }

  @Test("Both sides may close at the same time")
  func bothClose() {
    for maximum in [1, 3, .max] {
      let client = SessionHistory(.client), server = SessionHistory(.server)
      client.close(4000, "client")
      server.close(4001, "server")
      SessionHistory.converse(client, server) { maximum }
      #expect(client.end == .closed(.init(code: 4001, reason: "server", isClean: true, initiator: .local)))
      #expect(server.end == .closed(.init(code: 4000, reason: "client", isClean: true, initiator: .local)))
      #expect(client.isStreamClosed && server.isStreamClosed)
    }
  }

  @Test("The reaction to every illegal byte is the same in every split")
  func faults() {
    for bytes: [UInt8] in [
      [0xC1, 0x00], [0x83, 0x00], [0x81, 0x03, 0x61, 0xFF, 0x62], [0x88, 0x01, 0x03], [0x81, 0x80],
    ] {
      for maximum in [1, 2, .max] {
        let client = SessionHistory(.client)
        var input = [0x81, 0x01, 0x61] + bytes
        while !input.isEmpty, client.session.intake == .read { client.receive(&input, atMost: maximum) }
        #expect(client.notes == [.text("a")])
        guard case .failed(.violation(let violation)) = client.end else {
          Issue.record("\(bytes) \(client.states)")
          continue
        }
        client.write()
        let feeding = FrameFeeding(client.takeSent(), role: .server)
        #expect(feeding.events == [.close(violation.closeCode, "")])
      }
    }
  }

  /// Any events may occur in any order. Each request is answered once, states only advance, no transition occurs that
  /// the table calls illegal, and time limits end every session.
  @Test("Random events keep the invariants of a session", arguments: 0..<400)
  func anything(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed) &* 7919)
    let (client, server) = Self.pair(&random)
    var asked: [(SessionHistory, UInt64)] = [], givenUp: Set<UInt64> = []
    var wire: (toClient: [UInt8], toServer: [UInt8]) = ([], [])
    var batches: [ObjectIdentifier: [UInt8]] = [:]
    for _ in 0..<Int.random(in: 5...120, using: &random) {
      let lab = Bool.random(using: &random) ? client : server
      switch Int.random(in: 0..<24, using: &random) {
      case 0...3: asked.append((lab, lab.send(.binary, random.bytes(Int.random(in: 0...400, using: &random)))))
      case 4: asked.append((lab, lab.ping(random.bytes(3))))
      case 5...8:
        // A batch is taken, and may stay unwritten for a while.
        let key = ObjectIdentifier(lab)
        if let batch = batches.removeValue(forKey: key) {
          lab.wrote(batch, atMost: 100)
        } else if let batch = lab.take() {
          batches[key] = batch
        }
      case 9...14:
        wire.toServer += client.takeSent()
        wire.toClient += server.takeSent()
        let count = Int.random(in: 1...300, using: &random)
        if lab === client {
          lab.receive(&wire.toClient, atMost: count)
        } else {
          lab.receive(&wire.toServer, atMost: count)
        }
      case 15: lab.isReading.toggle()
      case 16: lab.read()
      case 17: lab.advance(by: .milliseconds(Int.random(in: 0...700, using: &random)))
      case 18 where Int.random(in: 0..<3, using: &random) == 0: lab.close()
      case 19 where Int.random(in: 0..<4, using: &random) == 0:
        batches[ObjectIdentifier(lab)] = nil
        if lab.session.phase != .done, lab.session.phase != .lingering, !lab.session.closing.isCloseWritten {
          lab.writeFails()
        }
      case 20 where Int.random(in: 0..<4, using: &random) == 0: lab.receiveEnd()
      case 21 where Int.random(in: 0..<4, using: &random) == 0:
        lab.session.abandonMessage(now: lab.now)
        lab.perform()
      case 22 where Int.random(in: 0..<4, using: &random) == 0:
        if lab === client { wire.toClient += [0x83, 0x00] } else { wire.toServer += [0x83, 0x80, 0, 0, 0, 0] }
      case 23:
        if let (lab, id) = asked.randomElement(using: &random), lab.answers[id] == nil {
          lab.session.giveUp(id)
          givenUp.insert(id &* 2 + (lab === client ? 1 : 0))
        }
      default: break
      }
    }
    for lab in [client, server] {
      lab.close()
      for _ in 0..<30 { lab.advance(by: .seconds(1)) }
      #expect(lab.session.phase == .done && lab.isStreamClosed && lab.session.deadline == nil, "\(lab.states)")
      #expect(lab.illegalEvent == nil)
      let order = lab.states.map { state in
        switch state {
        case .open: 0
        case .closing: 1
        case .closed, .failed: 2
        }
      }
      #expect(order == order.sorted() && Set(order).count == order.count && order.last == 2)
    }
    for (lab, id) in asked where !givenUp.contains(id &* 2 + (lab === client ? 1 : 0)) {
      #expect(lab.answers[id]?.count == 1, "\(id)")
    }
    for lab in [client, server] { for answers in lab.answers.values { #expect(answers.count == 1) } }
  }
}
