// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("WebSocket sessions")
struct WebSocketSessionTests {
  /// Returns bytes as a server sends them.
  private static func frames(_ build: (inout WebSocketEncoder) -> [UInt8]) -> [UInt8] {
    var encoder = WebSocketEncoder(role: .server)
    return build(&encoder)
  }

  private static func close(_ code: UInt16?, _ reason: String = "") -> [UInt8] {
    frames { $0.control(.close, WebSocketCloseRules.payload(code: code, reason: reason), key: 0) }
  }

  private static func text(_ text: String) -> [UInt8] { frames { $0.frame(.text, Array(text.utf8)) } }

  /// Returns the frames in bytes that a client sent.
  private static func read(_ bytes: [UInt8]) -> [FrameFeeding.Event] {
    let feeding = FrameFeeding(bytes, role: .server)
    #expect(feeding.violation == nil)
    return feeding.events
  }

  // MARK: closing

  @Test("Our close sends pending messages first, the peer's Close completes it, and the peer may end the connection")
  func closeLocally() {
    let client = SessionHistory(.client)
    let id = client.send("last")
    client.close(4000, "bye")
    #expect(client.states == [.closing])
    let late = client.send("late")
    #expect(client.answers[late] == [.refused(late)])
    client.write()
    #expect(client.answers[id] == [.sent(id)])
    #expect(Self.read(client.takeSent()) == [.text(Array("last".utf8)), .close(4000, "bye")])
    client.receive(all: Self.text("words") + Self.close(4000))
    #expect(client.notes == [.text("words")])
    #expect(client.end == .closed(.init(code: 4000, reason: "", isClean: true, initiator: .local)))
    #expect(client.session.phase == .lingering && client.session.deadline == .seconds(1))
    client.write()
    #expect(client.isFinished && !client.isStreamClosed)
    client.receiveEnd()
    #expect(client.isStreamClosed && client.session.intake == .over)
    var keys: [UInt32] = [0]
    let last = client.session.output(keys: &keys)
    #expect(last == .over)
  }

  @Test("When the peer closes its code is echoed, and pending messages are not sent")
  func closeRemotely() {
    let client = SessionHistory(.client)
    let id = client.send("waits")
    client.receive(all: Self.close(1001, "restart"))
    #expect(client.states == [.closing] && client.session.intake == .wait)
    client.write()
    #expect(Self.read(client.takeSent()) == [.close(1001, "")])
    #expect(client.end == .closed(.init(code: 1001, reason: "restart", isClean: true, initiator: .remote)))
    #expect(client.answers[id] == [.refused(id)])
  }

  @Test("A Close frame without a code is answered by one without")
  func closeWithoutCode() {
    let client = SessionHistory(.client)
    client.receive(all: Self.close(nil))
    client.write()
    #expect(Self.read(client.takeSent()) == [.close(nil, "")])
    #expect(client.end == .closed(.init(code: nil, reason: "", isClean: true, initiator: .remote)))
  }

  @Test("A peer that does not answer Close is given up at its limit; one that does not disconnect, after a second")
  func limits() {
    let silent = SessionHistory(.client) { $0.closeTimeout = .seconds(7) }
    silent.close()
    silent.write()
    silent.advance(by: .milliseconds(6_999))
    #expect(!silent.isStreamClosed)
    silent.advance(by: .milliseconds(1))
    #expect(silent.isStreamClosed)
    #expect(silent.end == .closed(.init(code: nil, reason: "", isClean: false, initiator: .local)))

    let lingering = SessionHistory(.client)
    lingering.receive(all: Self.close(1000))
    lingering.write()
    lingering.advance(by: .milliseconds(999))
    #expect(!lingering.isStreamClosed)
    // The session keeps reading, whatever arrives.
    lingering.receive(all: [0xFF, 0xFF, 0xFF])
    lingering.advance(by: .milliseconds(1))
    #expect(lingering.isStreamClosed && lingering.session.deadline == nil)
  }

  @Test("The limit for the whole closing also ends lingering")
  func shortCloseTimeout() {
    let client = SessionHistory(.client) { $0.closeTimeout = .milliseconds(10) }
    client.receive(all: Self.close(1000))
    client.write()
    #expect(client.session.phase == .lingering && client.session.deadline == .milliseconds(10))
    client.advance(by: .milliseconds(10))
    #expect(client.isStreamClosed)
  }

  @Test("An end without Close is a loss; after our Close it is an end that is not clean")
  func streamEnds() {
    let open = SessionHistory(.client)
    open.receive(all: Self.text("x"))
    open.receiveEnd()
    #expect(open.states == [.failed(.lost)] && open.notes == [.text("x")] && open.isStreamClosed)
    let closing = SessionHistory(.client)
    closing.close()
    closing.write()
    closing.receiveEnd()
    #expect(closing.end == .closed(.init(code: nil, reason: "", isClean: false, initiator: .local)))
  }

  @Test("Cutting ends at once, even while lingering; dropping leaves a lingering session alone")
  func cut() {
    for isDropped in [false, true] {
      let open = SessionHistory(.client)
      let id = open.send("x"), ping = open.ping([1])
      if isDropped { open.session.drop(now: .zero) } else { open.session.cut(now: .zero) }
      open.perform()
      #expect(open.states == [.failed(isDropped ? .dropped : .cut)] && open.isStreamClosed)
      #expect(open.answers == [id: [.refused(id)], ping: [.refused(ping)]])
      let lingering = SessionHistory(.client)
      lingering.receive(all: Self.close(1000))
      lingering.write()
      if isDropped { lingering.session.drop(now: .zero) } else { lingering.session.cut(now: .zero) }
      lingering.perform()
      #expect(lingering.isStreamClosed == !isDropped)
      #expect(lingering.states.count == 2)
    }
  }

  // MARK: faults

  @Test("On a violation earlier messages are delivered and answered, then the peer gets Close and may disconnect")
  func violation() {
    let client = SessionHistory(.client)
    client.isReading = false
    client.receive(all: Self.text("before") + [0x83, 0x00])
    #expect(client.states.isEmpty && client.session.phase == .faulted)
    client.send("answer")
    client.write()
    client.isReading = true
    client.read()
    guard case .failed(.violation(let violation)) = client.end else {
      Issue.record("\(client.states)")
      return
    }
    #expect(violation.kind == .opcode && client.states.count == 1)
    client.write()
    #expect(Self.read(client.takeSent()) == [.text(Array("answer".utf8)), .close(1002, "")])
    #expect(client.session.phase == .lingering && client.notes == [.text("before")])
    client.receiveEnd()
    #expect(client.isStreamClosed)
  }

  @Test("After a violation readers have a second to catch up, and a peer that does not read another")
  func violationLimits() {
    let client = SessionHistory(.client)
    client.isReading = false
    client.receive(all: Self.text("before") + [0x83, 0x00])
    client.advance(by: .milliseconds(999))
    #expect(client.states.isEmpty)
    client.advance(by: .milliseconds(1))
    #expect(client.states.count == 1 && client.session.phase == .parting)
    client.advance(by: .seconds(1))
    #expect(client.session.phase == .lingering)
    client.advance(by: .seconds(1))
    #expect(client.isStreamClosed)
  }

  @Test("A close requested while readers catch up after a violation is reported, and its code is sent")
  func closeAfterViolation() {
    let client = SessionHistory(.client)
    client.isReading = false
    client.receive(all: Self.text("before") + [0x83, 0x00])
    client.close(4001)
    #expect(client.states == [.closing])
    client.isReading = true
    client.read()
    #expect(client.states.count == 2)
    client.write()
    #expect(Self.read(client.takeSent()) == [.close(4001, "")])
  }

  @Test("Messages and frames beyond the limits close with 1009")
  func limitsOfSize() {
    for bytes in [Self.text("12345678901"), [0x01, 0x0A] + Array("1234567890".utf8) + [0x80, 0x01, 0x61]] {
      let client = SessionHistory(.client, maximumMessageBytes: 10)
      client.receive(all: bytes)
      client.write()
      #expect(Self.read(client.takeSent()) == [.close(1009, "")])
    }
  }

  @Test("When writing fails the peer's data and Close are still read; otherwise the connection is lost after a second")
  func writeFailure() {
    let told = SessionHistory(.client)
    let id = told.send("x"), ping = told.ping([1])
    _ = told.take()
    told.writeFails()
    #expect(told.answers == [id: [.refused(id)], ping: [.refused(ping)]] && told.states.isEmpty)
    #expect(!told.canSend && told.isWritingBroken)
    told.receive(all: Self.text("last words") + Self.close(4001, "full"))
    #expect(told.notes == [.text("last words")])
    #expect(
      told.states == [.closing, .closed(.init(code: 4001, reason: "full", isClean: false, initiator: .remote))])
    told.receiveEnd()
    #expect(told.isStreamClosed)

    let silent = SessionHistory(.client)
    silent.writeFails()
    silent.advance(by: .seconds(1))
    #expect(silent.states == [.failed(.lost)] && silent.isStreamClosed)
  }

  @Test("The second after a failed write does not run while readers pause reading")
  func heldUpGrace() {
    let client = SessionHistory(.client) { $0.receiveBufferBytes = 1 }
    client.isReading = false
    var bytes = Self.text("a") + Self.text("b") + Self.close(1000)
    client.receive(&bytes)
    #expect(client.session.intake == .wait)
    client.writeFails()
    for _ in 0..<5 { client.advance(by: .seconds(1)) }
    #expect(client.states.isEmpty)
    client.isReading = true
    client.read()
    client.receive(&bytes)
    #expect(client.notes == [.text("a"), .text("b")])
    #expect(client.states.last == .closed(.init(code: 1000, reason: "", isClean: false, initiator: .remote)))
  }

  @Test("An abandoned message closes with 1011, and the peer has a second to disconnect")
  func abandon() {
    let client = SessionHistory(.client)
    let message = client.makeID()
    client.send(.text, [0x61], message: message, isFinal: false)
    client.write()
    let waits = client.send("waits")
    client.session.abandonMessage(now: .zero)
    client.perform()
    #expect(client.states == [.failed(.abandoned)] && client.answers[waits] == [.refused(waits)])
    client.write()
    let feeding = FrameFeeding(client.takeSent(), role: .server)
    #expect(feeding.events == [.close(1011, "")] && client.isFinished)
    // Bytes are still read, but they are dropped.
    client.receive(all: Self.text("ignored"))
    #expect(client.notes.isEmpty && !client.isStreamClosed)
    client.advance(by: .seconds(1))
    #expect(client.isStreamClosed && client.states.count == 1)
  }

  @Test("Abandoning a message changes nothing if the session is closing or cannot send")
  func abandonLate() {
    let closing = SessionHistory(.client)
    closing.close()
    closing.session.abandonMessage(now: .zero)
    closing.perform()
    #expect(closing.states == [.closing])
    let mute = SessionHistory(.client)
    mute.writeFails()
    mute.session.abandonMessage(now: .zero)
    mute.perform()
    #expect(mute.states.isEmpty)
  }

  // MARK: sending

  @Test("Control frames overtake a long message, whose frames stay together")
  func fragmentation() {
    let client = SessionHistory(.client) { $0.maximumOutgoingFrameBytes = 10_000 }
    let long = [UInt8](repeating: 7, count: 45_000)
    let first = client.send(.binary, long), second = client.send("next")
    let batch = client.take() ?? []
    #expect(batch.count > WebSocketSession.batchBytes && batch.count < 30_000)
    client.ping([1])
    client.wrote(batch)
    #expect(client.answers[first] == nil)
    client.write()
    #expect(client.answers[first] == [.sent(first)] && client.answers[second] == [.sent(second)])
    #expect(Self.read(client.takeSent()) == [.ping([1]), .binary(long), .text(Array("next".utf8))])
  }

  @Test("A fragmented message delays other messages until it has ended")
  func openMessage() {
    let client = SessionHistory(.client)
    let message = client.makeID()
    client.send(.text, Array("a".utf8), message: message, isFinal: false)
    client.send("other")
    client.write()
    client.ping([1])
    client.send(.text, Array("b".utf8), message: message, isFirst: false, isFinal: true)
    client.write()
    #expect(Self.read(client.takeSent()) == [.ping([1]), .text(Array("ab".utf8)), .text(Array("other".utf8))])
  }

  @Test("A message cancelled before it is sent is dropped, and one in progress is completed; neither is confirmed")
  func giveUp() {
    let client = SessionHistory(.client) { $0.maximumOutgoingFrameBytes = 20_000 }
    let first = client.send(.binary, [UInt8](repeating: 1, count: 30_000)), second = client.send("never")
    let ping = client.ping([9])
    client.session.giveUp(ping)
    let batch = client.take() ?? []
    client.session.giveUp(first)
    client.session.giveUp(second)
    client.wrote(batch)
    client.write()
    #expect(Self.read(client.takeSent()) == [.binary([UInt8](repeating: 1, count: 30_000))])
    #expect(client.answers.isEmpty)
  }

  @Test("Cancelled pings are not sent")
  func outbox() {
    var outbox = WebSocketOutbox()
    for id in 1...3 { outbox.appendPing(UInt64(id), [UInt8(id)]) }
    outbox.giveUp(1)
    outbox.giveUp(3)
    guard case .ping(2, let payload) = outbox.takeFrame(upTo: 10) else {
      Issue.record("no ping")
      return
    }
    #expect(payload == [2])
    #expect(!outbox.hasFrame)
  }

  @Test("A writer has nothing to send after everything was cancelled")
  func nothingLeft() {
    let client = SessionHistory(.client)
    client.session.giveUp(client.ping([1]))
    #expect(!client.hasOutput)
    #expect(client.take() == nil)
    client.ping([2])
    client.write()
    #expect(Self.read(client.takeSent()) == [.ping([2])])
  }

  @Test("Of pongs that cannot be sent the latest 64 are kept")
  func pongs() {
    let client = SessionHistory(.client)
    client.receive(all: Self.frames { encoder in (0..<100).flatMap { encoder.control(.ping, [$0], key: 0) } })
    client.write()
    #expect(Self.read(client.takeSent()) == (36..<100).map { .pong([$0]) })
    let manual = SessionHistory(.client) { $0.answersPings = false }
    manual.receive(all: Self.frames { $0.control(.ping, [1], key: 0) })
    #expect(manual.notes == [.ping([1])] && !manual.hasOutput)
    let isTaken = manual.session.pong([2])
    #expect(isTaken)
    manual.write()
    #expect(Self.read(manual.takeSent()) == [.pong([2])])
  }

  // MARK: pings

  @Test("A pong confirms its ping and earlier ones, and an unsolicited pong confirms none")
  func order() {
    let client = SessionHistory(.client)
    let ids = (1...3).map { client.ping([UInt8($0)]) }
    client.write()
    client.now = .milliseconds(5)
    client.receive(all: Self.frames { $0.control(.pong, [9], key: 0) + $0.control(.pong, [2], key: 0) })
    #expect(client.answers[ids[0]] == [.ponged(ids[0], payload: [1], roundTrip: .milliseconds(5))])
    #expect(client.answers[ids[1]] == [.ponged(ids[1], payload: [2], roundTrip: .milliseconds(5))])
    #expect(client.answers[ids[2]] == nil)
  }

  @Test("A cancelled ping does not take the pong of a later one with the same payload")
  func samePayload() {
    let client = SessionHistory(.client)
    client.session.giveUp(client.ping([1]))
    let later = client.ping([1])
    client.receive(all: Self.frames { $0.control(.pong, [1], key: 0) })
    #expect(client.answers[later]?.count == 1)
  }

  @Test("Cancelled pings do not accumulate, and the keep-alive's ping is kept among them")
  func givenUpPings() {
    let client = SessionHistory(.client) { $0.keepAlive = .seconds(25) }
    client.advance(by: .seconds(25))
    client.write()
    for number in 0..<200 { client.session.giveUp(client.ping([1, UInt8(number)])) }
    client.receive(all: Self.frames { $0.control(.pong, [0, 0, 0, 0, 0, 0, 0xAA, 0xBB], key: 0) })
    #expect(client.session.keepAlive.state == .resting)
  }

  // MARK: keep-alive

  @Test("Each interval sends a ping, a pong keeps the session open, and silence ends it at the next interval")
  func keepAlive() {
    let client = SessionHistory(.client) { $0.keepAlive = .seconds(25) }
    let payload: [UInt8] = [0, 0, 0, 0, 0, 0, 0xAA, 0xBB]
    for round in 1...3 {
      #expect(client.session.keepAliveDue == .seconds(25 * round))
      client.advance(by: .seconds(25))
      client.write()
      #expect(Self.read(client.takeSent()) == [.ping(payload)])
      client.receive(all: Self.frames { $0.control(.pong, payload, key: 0) })
    }
    client.advance(by: .seconds(25))
    client.write()
    client.advance(by: .seconds(25))
    #expect(client.states == [.failed(.silence)] && client.isStreamClosed && client.session.keepAliveDue == nil)
  }

  @Test("The keep-alive ends with the closing")
  func keepAliveEnds() {
    let client = SessionHistory(.client) {
      $0.keepAlive = .seconds(25)
      $0.closeTimeout = .seconds(1000)
    }
    client.close()
    client.write()
    client.advance(by: .seconds(25))
    client.advance(by: .seconds(25))
    client.write()
    #expect(client.states == [.closing] && client.session.keepAliveDue == nil)
    #expect(Self.read(client.takeSent()) == [.close(1000, "")])
  }

  @Test("Slow readers, an incomplete frame and outgoing progress do not count as silence")
  func excused() {
    let held = SessionHistory(.client) {
      $0.keepAlive = .seconds(25)
      $0.receiveBufferBytes = 1
    }
    held.isReading = false
    held.advance(by: .seconds(25))
    held.write()
    held.receive(all: Self.text("a") + Self.text("b"))
    for _ in 0..<5 { held.advance(by: .seconds(25)) }
    #expect(held.states.isEmpty)

    let inFrame = SessionHistory(.client) { $0.keepAlive = .seconds(25) }
    inFrame.advance(by: .seconds(25))
    inFrame.write()
    inFrame.receive(all: [0x82, 0x64])
    for _ in 0..<5 {
      inFrame.receive(all: [0])
      inFrame.advance(by: .seconds(25))
    }
    #expect(inFrame.states.isEmpty)
    inFrame.advance(by: .seconds(25))
    #expect(inFrame.states == [.failed(.silence)])

    let slow = SessionHistory(.client) { $0.keepAlive = .seconds(25) }
    slow.send(.binary, [UInt8](repeating: 0, count: 100_000))
    let batch = slow.take() ?? []
    slow.advance(by: .seconds(25))
    for start in 0..<5 {
      slow.session.wrote(1, now: slow.now)
      #expect(start < batch.count)
      slow.advance(by: .seconds(25))
    }
    #expect(slow.states.isEmpty)
    slow.session.wrote(batch.count - 5, now: slow.now)
    slow.write()
    // The ping was written late. Its pong gets one interval, and no more.
    slow.advance(by: .seconds(25))
    #expect(slow.states.isEmpty)
    slow.advance(by: .seconds(25))
    #expect(slow.states == [.failed(.silence)])
  }

  @Test("A peer that sends frames other than pongs is alive, and is given up when it falls silent")
  func busyPeer() {
    let client = SessionHistory(.client) { $0.keepAlive = .seconds(25) }
    client.advance(by: .seconds(25))
    client.write()
    for _ in 0..<5 {
      client.receive(all: Self.text("news"))
      client.advance(by: .seconds(25))
    }
    #expect(client.states.isEmpty)
    client.advance(by: .seconds(25))
    #expect(client.states == [.failed(.silence)])
  }

  @Test("A peer that accepts bytes is alive without a pong, unless the bytes may only be buffered")
  func slowLine() {
    for (messages, isAlive) in [(5, true), (4, false)] {
      let client = SessionHistory(.client) { $0.keepAlive = .seconds(25) }
      client.advance(by: .seconds(25))
      client.write()
      // The ping has been written, but it is queued behind bytes in the layers below.
      for _ in 0..<messages { client.send(.binary, [UInt8](repeating: 0, count: 60_000)) }
      client.write()
      client.advance(by: .seconds(25))
      #expect(client.states == (isAlive ? [] : [.failed(.silence)]))
      client.advance(by: .seconds(25))
      #expect(client.states == [.failed(.silence)])
    }
  }

  // MARK: back-pressure

  @Test("Reading pauses while the slowest reader has too much, and unread data is kept up to the limit")
  func backPressure() {
    let client = SessionHistory(.client) { $0.receiveBufferBytes = 1000 }
    client.isReading = false
    var bytes = (0..<50).flatMap { _ in Self.text(String(repeating: "x", count: 100)) }
    while client.session.intake == .read, !bytes.isEmpty { client.receive(&bytes, atMost: 300) }
    #expect(client.session.intake == .wait && bytes.count > 3000)
    client.isReading = true
    client.read()
    #expect(client.session.intake == .work)
    while !bytes.isEmpty { client.receive(&bytes, atMost: 300) }
    #expect(client.notes.count == 50)
  }

  @Test("While leaving, data that readers are too slow for is dropped, with all that follows")
  func dropped() {
    let client = SessionHistory(.client) { $0.receiveBufferBytes = 100 }
    client.isReading = false
    client.receive(all: Self.text(String(repeating: "a", count: 100)) + Self.text("b"))
    #expect(client.session.intake == .wait)
    client.close()
    client.write()
    client.receive(all: Self.text("c") + Self.close(1000))
    #expect(client.session.phase == .lingering)
    client.isReading = true
    client.read()
    #expect(client.notes == [.text(String(repeating: "a", count: 100))])
  }

  @Test("Every reader gets everything since it joined, and the last one to leave frees what it held")
  func readers() {
    var session = WebSocketSession(.init(.init(role: .client)), now: .zero)
    func feed(_ text: String) {
      Self.text(text).withUnsafeBytes { session.receive($0) }
      session.work(now: .zero)
    }
    feed("0")
    let first = session.join(), second = session.join()
    feed("1")
    func next(_ reader: UInt64) -> String? {
      session.next(for: reader, now: .zero).map { String(decoding: $0.bytes, as: UTF8.self) }
    }
    let forFirst = [next(first), next(first), next(first)], forSecond = [next(second), next(second)]
    #expect(forFirst == ["0", "1", nil] && forSecond == ["1", nil])
    session.leave(first, now: .zero)
    session.leave(second, now: .zero)
    feed("2")
    let third = next(session.join())
    #expect(third == "2")
  }

  @Test("Bytes that decompress to a large amount are processed in portions")
  func portions() {
    var encoder = WebSocketEncoder(role: .server, deflate: WebSocketDeflate(), minimumCompressedBytes: 0)
    let bytes = encoder.frame(.binary, [UInt8](repeating: 0, count: 10_000_000))
    let client = SessionHistory(.client, deflate: WebSocketDeflate(), maximumMessageBytes: nil) {
      $0.receiveBufferBytes = .max
    }
    bytes.withUnsafeBytes { client.session.receive($0) }
    var portions = 0
    while client.session.intake == .work {
      client.session.work(now: .zero)
      portions += 1
    }
    client.read()
    #expect(portions >= 10_000_000 / (65_536 * 2))
    #expect(client.notes == [.binary([UInt8](repeating: 0, count: 10_000_000))])
  }
}
