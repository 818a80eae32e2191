// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("State tables of an HTTP/1.1 exchange")
struct HTTP1ExchangeTableTests {
  // Each row is a state: `writing/reading`, with `+` if a timer runs. Each cell is the next state: the half that
  // changes, or both halves. `.`: no change; CLOSE, REUSE, HAND: the exchange is over; `!`: it fails; `-`: the event
  // cannot occur.

  /// The events of the writing half. The request has a body of 10 bytes, of which 4 are provided.
  static let writing = """
    -               started some all       gave more  end             short broken          timer
    head/waiting    await   .    .         .    .     .               .     broken/waiting+ .
    await/waiting   .       .    /waiting+ .    .     .               .     broken/waiting+ .
    await/waiting+  .       .    .         .    .     .               .     broken          body/waiting
    await/head      .       .    /head+    .    .     .               .     broken/head+    .
    await/head+     .       .    .         .    .     .               .     broken          body/head
    body/waiting    .       .    .         .    !body flush           !body broken/waiting+ .
    body/head       .       .    .         .    !body flush           !body broken/head+    .
    body/body       .       .    .         .    !body flush           !body broken          .
    body/complete+  .       .    .         .    CLOSE flush           CLOSE CLOSE           CLOSE
    flush/waiting   .       .    sent      .    .     .               .     broken/waiting+ .
    flush/head      .       .    sent      .    .     .               .     broken/head+    .
    flush/body      .       .    sent      .    .     .               .     broken          .
    flush/complete+ .       .    REUSE     .    .     .               .     CLOSE           CLOSE
    sent/waiting    .       .    .         .    .     .               .     broken/waiting+ .
    sent/head       .       .    .         .    .     .               .     broken/head+    .
    sent/body       .       .    .         .    .     .               .     broken          .
    stop/body       .       .    .         .    .     .               .     .               .
    broken/waiting+ .       .    .         .    .     .               .     .               !early
    broken/head+    .       .    .         .    .     .               .     .               !head
    broken/body     .       .    .         .    .     .               .     .               .
    """

  /// The events of response heads: a partial head, 100, 103, 101, 200 and 413 with 3 bytes of body, 204, and an invalid
  /// head.
  static let reading = """
    -               part   continues hints  upgrade ok        empty      refuses   noise
    head/waiting    !early !early    !early !early  !early    !early     !early    !early
    await/waiting   /head  body/head /head  !answer body/body body/complete+ stop/body !answer
    await/waiting+  /head+ body/head /head+ !answer body/body body/complete+ stop/body !answer
    await/head      -      body      .      !answer body/body body/complete+ stop/body !answer
    await/head+     -      body/head .      !answer body/body body/complete+ stop/body !answer
    body/waiting    /head  /head     /head  !answer /body     /complete+ stop/body !answer
    body/head       -      .         .      !answer /body     /complete+ stop/body !answer
    body/body       -      -         -      -       -         -          -         -
    body/complete+  -      -         -      -       -         -          -         -
    flush/waiting   /head  /head     /head  HAND    /body     /complete+ /body     !answer
    flush/head      -      .         .      HAND    /body     /complete+ /body     !answer
    flush/body      -      -         -      -       -         -          -         -
    flush/complete+ -      -         -      -       -         -          -         -
    sent/waiting    /head  /head     /head  HAND    /body     REUSE      /body     !answer
    sent/head       -      .         .      HAND    /body     REUSE      /body     !answer
    sent/body       -      -         -      -       -         -          -         -
    stop/body       -      -         -      -       -         -          -         -
    broken/waiting+ /head+ /head+    /head+ !answer /body     CLOSE      /body     !answer
    broken/head+    -      .         .      !answer /body     CLOSE      /body     !answer
    broken/body     -      -         -      -       -         -          -         -
    """

  /// The remaining events: the response's body, a byte after the response, a clean and an unclean end of the
  /// connection.
  static let ends = """
    -               data rest       extra clean  torn
    head/waiting    -    -          -     !early !early
    await/waiting   -    -          -     !early !early
    await/waiting+  -    -          -     !early !early
    await/head      -    -          -     !head  !head
    await/head+     -    -          -     !head  !head
    body/waiting    -    -          -     !early !early
    body/head       -    -          -     !head  !head
    body/body       .    /complete+ -     !cut   !cut
    body/complete+  -    -          CLOSE CLOSE  CLOSE
    flush/waiting   -    -          -     !early !early
    flush/head      -    -          -     !head  !head
    flush/body      .    /complete+ -     !cut   !cut
    flush/complete+ -    -          CLOSE CLOSE  CLOSE
    sent/waiting    -    -          -     !early !early
    sent/head       -    -          -     !head  !head
    sent/body       .    REUSE      -     !cut   !cut
    stop/body       .    CLOSE      -     !cut   !cut
    broken/waiting+ -    -          -     !early !early
    broken/head+    -    -          -     !head  !head
    broken/body     .    CLOSE      -     !cut   !cut
    """

  @Test("Every event in every state leads to the state of the table", arguments: ["writing", "reading", "ends"])
  func cells(table: String) throws {
    let text = ["writing": Self.writing, "reading": Self.reading, "ends": Self.ends][table]
    let rows = try #require(text).split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    let events = try rows[0].dropFirst().map { try #require(ExchangeEvent(rawValue: $0), "\($0)") }
    #expect(rows.dropFirst().map(\.[0]) == ExchangeLab.paths.map(\.name))
    for (row, path) in zip(rows.dropFirst(), ExchangeLab.paths) {
      let lab = ExchangeLab.at(path)
      try #require(lab.state == path.name)
      for (event, expected) in zip(events, row.dropFirst()) {
        #expect((expected == "-") == !ExchangeLab.canOccur(event, at: path.name))
        guard expected != "-" else { continue }
        var after = lab
        #expect(ExchangeLab.change(from: lab.state, to: after.apply(event)) == expected, "\(path.name) \(event)")
        #expect(expected.hasPrefix("!") == (after.exchange.connection == .toClose && expected != "CLOSE"))
      }
    }
  }

  @Test("The tables contain every event and every pair of states that can be in use")
  func whole() {
    let events = [Self.writing, Self.reading, Self.ends].flatMap {
      $0.prefix { $0 != "\n" }.split(separator: " ").dropFirst().map(String.init)
    }
    #expect(events == ExchangeEvent.allCases.map(\.rawValue))
    var seen: Set<String> = []
    var paths = ExchangeLab.paths.map { ExchangeLab.at($0) }
    while let lab = paths.popLast() {
      guard lab.exchange.connection == .inUse, seen.insert(lab.state).inserted else { continue }
      for event in ExchangeEvent.allCases where ExchangeLab.canOccur(event, at: lab.state) {
        var after = lab
        _ = after.apply(event)
        paths.append(after)
      }
    }
    #expect(seen == Set(ExchangeLab.paths.map(\.name)))
  }

  @Test("After its end an exchange ignores every event", arguments: ["CLOSE", "REUSE", "HAND"])
  func over(end: String) throws {
    let ends: [String: [ExchangeEvent]] = [
      "CLOSE": [.started, .empty, .extra], "REUSE": [.started, .end, .all, .empty],
      "HAND": [.started, .end, .all, .upgrade],
    ]
    var lab = ExchangeLab.at((end, false, try #require(ends[end])))
    #expect(lab.state == end)
    for event in ExchangeEvent.allCases { #expect(lab.apply(event) == end) }
    #expect(lab.exchange.timer == nil)
  }
}

/// An event of an exchange.
enum ExchangeEvent: String, CaseIterable {
  // The events of the writing half. The body has 10 bytes, of which 4 are provided before the event.
  case started, some, all, gave, more, end, short, broken, timer
  // The events of the reading half. All heads except 204 announce a body of 3 bytes; `extra` is a byte after the
  // response.
  case part, continues, hints, upgrade, ok, empty, refuses, noise, data, rest, extra
  // The events that end an exchange.
  case clean, torn
}

/// An exchange in a given state, to which a test applies events.
struct ExchangeLab {
  var exchange: HTTP1Exchange

  /// Whether a partial head has been read.
  private var hasPart = false
  private static let part = "HTTP/1.1 "

  init(_ exchange: HTTP1Exchange) { self.exchange = exchange }

  mutating func read(_ text: String) throws(HTTP1Failure) {
    let bytes = Array(text.utf8)
    try bytes.withBytes { bytes throws(HTTP1Failure) in
      var position = 0
      while true {
        switch try exchange.next(in: bytes, at: &position) {
        case .needsMore, .end, .tunnel: return
        case .interim, .head: break
        case .body(let count):
          exchange.markUsed(count)
          position += count
        }
      }
    }
  }

  /// Applies an event.
  ///
  /// - Returns: the name of the next state, or of the failure.
  mutating func apply(_ event: ExchangeEvent) -> String {
    do throws(HTTP1Failure) {
      if let text = Self.text(event) {
        defer { hasPart = event == .part }
        try read(hasPart ? String(text.dropFirst(Self.part.count)) : text)
      } else {
        try tell(event)
      }
      return state
    } catch {
      return Self.name(error.kind)
    }
  }

  private mutating func tell(_ event: ExchangeEvent) throws(HTTP1Failure) {
    switch event {
    case .started: exchange.started()
    case .some: exchange.wroteSome()
    case .all: exchange.wroteAll()
    case .gave: _ = try exchange.sourceGave(3)
    case .more: _ = try exchange.sourceGave(11)
    case .short: _ = try exchange.sourceEnded()
    case .end:
      _ = try exchange.sourceGave(6)
      _ = try exchange.sourceEnded()
    case .broken: exchange.writeFailed()
    case .timer: try exchange.timerFired()
    case .clean: _ = try exchange.connectionEnded(cleanly: true)
    case .torn: _ = try exchange.connectionEnded(cleanly: false)
    default: break
    }
  }

  private static func text(_ event: ExchangeEvent) -> String? {
    let length = "Content-Length: 3\r\n\r\n"
    switch event {
    case .part: return part
    case .continues: return part + "100 C\r\n\r\n"
    case .hints: return part + "103 E\r\n\r\n"
    case .upgrade: return part + "101 S\r\n\r\n"
    case .ok: return part + "200 OK\r\n" + length
    case .empty: return part + "204 No\r\n\r\n"
    case .refuses: return part + "413 No\r\n" + length
    case .noise: return part + "x\r\n\r\n"
    case .data: return "a"
    case .rest: return "bc"
    case .extra: return "x"
    default: return nil
    }
  }

  /// The state as `writing/reading` while the connection is in use. `+` means that a timer runs. Otherwise, the
  /// fate of the connection.
  var state: String {
    switch exchange.connection {
    case .inUse: "\(Self.name(exchange.writing))/\(exchange.reading)" + (exchange.timer == nil ? "" : "+")
    case .reusable: "REUSE"
    case .toClose: "CLOSE"
    case .handedOver: "HAND"
    }
  }

  private static func name(_ writing: HTTP1Exchange.Writing) -> String {
    switch writing {
    case .awaitContinue: "await"
    case .flushing: "flush"
    case .stopped: "stop"
    case .broken: "broken"
    case .head, .body, .sent: "\(writing)"
    }
  }

  static func name(_ kind: HTTP1Failure.Kind) -> String {
    switch kind {
    case .lostBeforeFirstByte: "!early"
    case .lostInHead: "!head"
    case .truncated: "!cut"
    case .answer: "!answer"
    case .body: "!body"
    }
  }

  /// Every state in which the exchange continues, by its name, with the events that lead to the state.
  static let paths: [(name: String, expects: Bool, events: [ExchangeEvent])] = [
    ("head/waiting", true, []),
    ("await/waiting", true, [.started]), ("await/waiting+", true, [.started, .all]),
    ("await/head", true, [.started, .part]), ("await/head+", true, [.started, .all, .part]),
    ("body/waiting", false, [.started]), ("body/head", false, [.started, .part]),
    ("body/body", false, [.started, .ok, .data]), ("body/complete+", false, [.started, .empty]),
    ("flush/waiting", false, [.started, .end]), ("flush/head", false, [.started, .end, .part]),
    ("flush/body", false, [.started, .end, .ok, .data]), ("flush/complete+", false, [.started, .end, .empty]),
    ("sent/waiting", false, [.started, .end, .all]), ("sent/head", false, [.started, .end, .all, .part]),
    ("sent/body", false, [.started, .end, .all, .ok, .data]),
    ("stop/body", false, [.started, .refuses, .data]),
    ("broken/waiting+", false, [.started, .broken]), ("broken/head+", false, [.started, .part, .broken]),
    ("broken/body", false, [.started, .ok, .data, .broken]),
  ]

  static func at(_ path: (name: String, expects: Bool, events: [ExchangeEvent])) -> ExchangeLab {
    var lab = ExchangeLab(
      HTTP1Exchange(.length(10), to: .upgrade, expectsContinue: path.expects, resembling: nil))
    for event in path.events {
      // 4 bytes are provided before every event that needs more of them.
      if event == .end { _ = try? lab.exchange.sourceGave(4) }
      _ = lab.apply(event)
    }
    if lab.exchange.writing == .body { _ = try? lab.exchange.sourceGave(4) }
    return lab
  }

  /// Returns whether the event can occur in the state. The meaning of bytes depends on the progress of the response.
  static func canOccur(_ event: ExchangeEvent, at state: String) -> Bool {
    let reading = state.drop { $0 != "/" }.dropFirst().prefix { $0.isLetter }
    switch event {
    case .part: return reading == "waiting"
    case .continues, .hints, .upgrade, .ok, .empty, .refuses, .noise: return reading == "waiting" || reading == "head"
    case .data, .rest: return reading == "body"
    case .extra: return reading == "complete"
    default: return true
    }
  }

  /// Returns the change between two states: `.` if they are equal, and only one half if the other half is unchanged.
  static func change(from old: String, to new: String) -> String {
    if new == old { return "." }
    let halves = [old, new].map { $0.split(separator: "/") }
    guard halves[0].count == 2, halves[1].count == 2 else { return new }
    if halves[0][1] == halves[1][1] { return String(halves[1][0]) }
    return halves[0][0] == halves[1][0] ? "/" + halves[1][1] : new
  }
}
