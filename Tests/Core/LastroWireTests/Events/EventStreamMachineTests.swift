// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Event stream parser", .timeLimit(.minutes(15)))
struct EventStreamMachineTests {
  typealias Event = EventStreamMachine.Event
  static let limits = EventStreamMachine.Limits(lineBytes: 1 << 20, eventBytes: 8 << 20, idBytes: 4 << 10)

  /// The result of feeding a machine with pieces.
  struct Outcome: Equatable {
    var events: [Event] = []
    var lastEventID = ""
    var retry: Int?
    var violation: EventStreamMachine.Violation?
  }

  static func read(_ pieces: [[UInt8]], limits: EventStreamMachine.Limits = limits) -> Outcome {
    var machine = EventStreamMachine(limits: limits)
    var outcome = Outcome()
    do throws(EventStreamMachine.Violation) {
      for piece in pieces {
        machine.feed(piece)
        while let event = try machine.next() { outcome.events.append(event) }
      }
    } catch {
      outcome.violation = error
    }
    outcome.lastEventID = machine.lastEventID
    outcome.retry = machine.retry
    return outcome
  }

  @Test("An event is reported at the CR of its empty line, and the following LF starts nothing")
  func promptness() throws {
    var machine = EventStreamMachine(limits: Self.limits)
    machine.feed(Array("data: a\r\n\r".utf8))
    #expect(try machine.next()?.data == "a")
    machine.feed([0x0A])
    #expect(try machine.next() == nil)
    machine.feed(Array("data: b\r\n\r\n".utf8))
    #expect(try machine.next()?.data == "b")
    #expect(try machine.next() == nil)
  }

  @Test("Input that was fed and not read is kept when more is fed")
  func feedingAhead() throws {
    var machine = EventStreamMachine(limits: Self.limits)
    machine.feed(Array("data: a\n\ndata: b\n\nda".utf8))
    #expect(try machine.next()?.data == "a")
    machine.feed(Array("ta: c\n\n".utf8))
    #expect(try machine.next()?.data == "b")
    #expect(try machine.next()?.data == "c")
    #expect(try machine.next() == nil)
  }

  @Test("The last event ID of the previous connection stays in force until another arrives")
  func earlierIdentifier() throws {
    var machine = EventStreamMachine(limits: Self.limits, lastEventID: "6")
    #expect(machine.lastEventID == "6")
    machine.feed(Array("data: a\n\nid: 7\ndata: b\n\n".utf8))
    #expect(try machine.next() == Event(name: "message", data: "a", id: "6"))
    #expect(try machine.next() == Event(name: "message", data: "b", id: "7"))
  }

  private static let small = EventStreamMachine.Limits(lineBytes: 20, eventBytes: 30, idBytes: 4)

  @Test(
    "Input at a limit is accepted, and one byte more is refused, in every split",
    arguments: [
      (":" + String(repeating: "c", count: 19) + "\n", nil),
      (":" + String(repeating: "c", count: 20) + "\n", .line(20)),
      (String(repeating: "c", count: 20), nil), (String(repeating: "c", count: 21), .line(20)),
      (String(repeating: "data: 12345678\n", count: 3) + "data: 123\n\n", nil),
      (String(repeating: "data: 12345678\n", count: 3) + "data: 1234\n\n", .event(30)),
      ("id: 1234\n\n", nil), ("id: 12345\n\n", .id(4)), ("id: 1234\u{0}\n\n", .id(4)),
      // Two events together may exceed the limit of one event.
      (String(repeating: "data: 12345678\n\n", count: 9), nil),
    ] as [(String, EventStreamMachine.Violation?)])
  func limits(text: String, violation: EventStreamMachine.Violation?) {
    let bytes = Array(text.utf8)
    #expect(Self.read([bytes], limits: Self.small).violation == violation)
    for split in 0...bytes.count {
      #expect(
        Self.read([Array(bytes[..<split]), Array(bytes[split...])], limits: Self.small).violation == violation,
        "split at \(split)")
    }
  }

  @Test("A refused stream stays refused, whatever is fed")
  func refusedForGood() {
    var machine = EventStreamMachine(limits: Self.small)
    machine.feed(Array(repeating: 0x61, count: 21))
    #expect(throws: EventStreamMachine.Violation.line(20)) { try machine.next() }
    machine.feed(Array("\n\ndata: a\n\n".utf8))
    #expect(throws: EventStreamMachine.Violation.line(20)) { try machine.next() }
  }

  @Test(
    "100 MB of one event are refused at the limit, in one line or in many",
    arguments: [
      (Array(repeating: 0x61, count: 1 << 16), .line(1 << 20), 17),
      (Array("data: 0123456789abcdef0123456789abcdef0123456789abcdef01234567\n".utf8), .event(8 << 20), 150_000),
    ] as [([UInt8], EventStreamMachine.Violation, Int)])
  func hugeEvent(piece: [UInt8], violation: EventStreamMachine.Violation, most: Int) {
    var machine = EventStreamMachine(limits: Self.limits)
    machine.feed(Array("data: ".utf8))
    var pieces = 0
    do throws(EventStreamMachine.Violation) {
      while pieces * piece.count < 100_000_000 {
        machine.feed(piece)
        pieces += 1
        if try machine.next() != nil { Issue.record("an event") }
      }
    } catch {
      #expect(error == violation)
    }
    #expect(pieces <= most)
  }

  @Test("Any number of comments is accepted, and none is buffered")
  func comments() throws {
    var machine = EventStreamMachine(limits: Self.small)
    for _ in 0..<100_000 {
      machine.feed(Array(": still here\n\n".utf8))
      if try machine.next() != nil { Issue.record("an event") }
    }
    machine.feed(Array("data: a\n\n".utf8))
    #expect(try machine.next()?.data == "a")
  }
}
