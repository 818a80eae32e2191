// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroWire

@Suite("Exchanges over HTTP/1.1", .ownThread)
struct HTTP1ExchangeTests {
  private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

  /// Returns an exchange whose request has been sent.
  private func sent(_ framing: RequestFraming = .none, to request: ResponseReader.Request = .ordinary) -> HTTP1Exchange
  {
    var exchange = HTTP1Exchange(framing, to: request)
    exchange.started()
    exchange.wroteAll()
    return exchange
  }

  @Test("A GET receives head, body and end, and the connection is reusable")
  func get() throws {
    var exchange = sent()
    let bytes = Array(Self.hello.utf8)
    try bytes.withBytes { bytes throws(HTTP1Failure) in
      var position = 0
      guard case .head(let head) = try exchange.next(in: bytes, at: &position) else {
        Issue.record("no head")
        return
      }
      #expect(head.status == 200 && exchange.status == 200)
      #expect(try exchange.next(in: bytes, at: &position) == .body(5))
      exchange.markUsed(5)
      position += 5
      #expect(exchange.connection == .inUse)
      #expect(try exchange.next(in: bytes, at: &position) == .end)
    }
    #expect(exchange.connection == .reusable && exchange.requestSent && exchange.timer == nil)
  }

  @Test(
    "The connection is kept only if both sides allow it and no bytes are left over",
    arguments: [
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, HTTP1Exchange.Connection.reusable),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true, .toClose),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", false, .toClose),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: a, Close\r\n\r\n", false, .toClose),
      ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false, .toClose),
      ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", false, .reusable),
      ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nH", false, .toClose),
      ("HTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\nx", false, .reusable),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, .reusable),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\r\n", false, .toClose),
      ("HTTP/1.1 200 OK\r\n\r\nhi", false, .inUse),
    ])
  func keep(answer: String, asksToClose: Bool, connection: HTTP1Exchange.Connection) throws {
    var lab = ExchangeLab(HTTP1Exchange(.none, asksToClose: asksToClose))
    lab.exchange.started()
    lab.exchange.wroteAll()
    try lab.read(answer)
    #expect(lab.exchange.connection == connection)
  }

  @Test("Interim responses are bounded by time and by the body that is sent, 100 (Continue) among them")
  func interims() throws {
    func read(_ exchange: inout HTTP1Exchange, _ status: Int, count: Int, apart: UInt64) throws {
      let bytes = Array("HTTP/1.1 \(status) I\r\nUpload-Offset: 1\r\n\r\n".utf8)
      for index in 0..<count {
        try bytes.withBytes { bytes throws(HTTP1Failure) in
          var position = 0
          while case .interim = try exchange.next(in: bytes, at: &position, now: UInt64(index) * apart) {}
        }
      }
    }
    var waiting = sent()
    try read(&waiting, 102, count: 1_000, apart: 20_000_000)
    for status in [100, 102] {
      var flooded = sent()
      #expect(throws: HTTP1Failure.self) { try read(&flooded, status, count: 100, apart: 0) }
    }
    var uploading = HTTP1Exchange(.chunked)
    uploading.started()
    for _ in 0..<20 { _ = try uploading.sourceGave(10_000) }
    try read(&uploading, 104, count: 10_000, apart: 0)
  }

  @Test("A response delimited by the connection's end is complete only if that end is clean")
  func closeDelimited() throws {
    for cleanly in [true, false] {
      var lab = ExchangeLab(sent())
      try lab.read("HTTP/1.1 200 OK\r\n\r\nhi")
      if cleanly {
        #expect(try lab.exchange.connectionEnded(cleanly: true) == .end)
        #expect(lab.exchange.connection == .toClose)
      } else {
        #expect(throws: HTTP1Failure(kind: .truncated, requestSent: true)) {
          try lab.exchange.connectionEnded(cleanly: false)
        }
      }
    }
    // The head says that no body follows, so the way in which the connection ends is irrelevant.
    var exchange = sent(to: .head)
    try Array("HTTP/1.1 200 OK\r\n\r\n".utf8).withBytes { bytes throws(HTTP1Failure) in
      var position = 0
      _ = try exchange.next(in: bytes, at: &position)
    }
    #expect(try exchange.connectionEnded(cleanly: false) == .end)
  }

  @Test("The error of a connection that ends without a response says whether request bytes were accepted")
  func lost() {
    func failure(_ events: [ExchangeEvent]) -> HTTP1Failure? {
      var lab = ExchangeLab(HTTP1Exchange(.length(10)))
      for event in events { _ = lab.apply(event) }
      return #expect(throws: HTTP1Failure.self) { try lab.exchange.connectionEnded(cleanly: true) }
    }
    #expect(failure([]) == HTTP1Failure(kind: .lostBeforeFirstByte, requestSent: false))
    #expect(failure([.started]) == HTTP1Failure(kind: .lostBeforeFirstByte, requestSent: false))
    #expect(failure([.started, .broken]) == HTTP1Failure(kind: .lostBeforeFirstByte, requestSent: false))
    #expect(failure([.started, .some]) == HTTP1Failure(kind: .lostBeforeFirstByte, requestSent: true))
    #expect(failure([.started, .all]) == HTTP1Failure(kind: .lostBeforeFirstByte, requestSent: true))
    #expect(failure([.started, .part]) == HTTP1Failure(kind: .lostInHead, requestSent: true))
    #expect(failure([.started, .hints]) == HTTP1Failure(kind: .lostInHead, requestSent: true))
    #expect(failure([.started, .refuses]) == HTTP1Failure(kind: .truncated, requestSent: true))
  }

  @Test("After the head 100 is awaited; without it the body is sent anyway, which is reported")
  func expect() throws {
    for answers in [true, false] {
      var lab = ExchangeLab(HTTP1Exchange(.chunked, expectsContinue: true))
      lab.exchange.started()
      #expect(lab.exchange.timer == nil)
      #expect(try lab.exchange.sourceGave(3) == nil, "the body is held back")
      #expect(try lab.exchange.sourceEnded() == nil)
      lab.exchange.wroteAll()
      #expect(lab.exchange.timer == .awaitContinue)
      if answers { try lab.read("HTTP/1.1 103 E\r\n\r\nHTTP/1.1 100 C\r\n\r\n") } else { try lab.exchange.timerFired() }
      #expect(lab.exchange.writing == .body && lab.exchange.timer == nil)
      #expect(lab.exchange.continueTimedOut == !answers)
      #expect(try lab.exchange.sourceGave(3)?.count == 3)
    }
    let wait = HTTP1Exchange.Timer.awaitContinue
    #expect(wait.duration(within: nil) == .seconds(1))
    #expect(wait.duration(within: .seconds(60)) == .seconds(1))
    #expect(wait.duration(within: .seconds(2)) == .milliseconds(200))
    var exchange = HTTP1Exchange(.length(0), expectsContinue: true)
    exchange.started()
    #expect(exchange.writing == .flushing, "an empty body is not held back")
  }

  @Test("417 repeats the request once without Expect, and only if it had one")
  func expectationFailed() throws {
    for expects in [true, false] {
      var lab = ExchangeLab(HTTP1Exchange(.length(10), expectsContinue: expects))
      lab.exchange.started()
      try lab.read("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n")
      #expect(lab.exchange.refusesExpect == expects)
      #expect(lab.exchange.connection == .toClose)
      #expect(!lab.exchange.continueTimedOut)
    }
  }

  @Test("A refusal while the body is sent stops the source; below 300 the body continues, and the connection is kept")
  func early() throws {
    var refused = ExchangeLab(HTTP1Exchange(.length(10)))
    refused.exchange.started()
    _ = try refused.exchange.sourceGave(4)
    try refused.read("HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\n")
    #expect(refused.exchange.writing == .stopped)
    #expect(try refused.exchange.sourceGave(4) == nil)
    try refused.read("no")
    #expect(refused.exchange.connection == .toClose)

    var taken = ExchangeLab(HTTP1Exchange(.length(10)))
    taken.exchange.started()
    _ = try taken.exchange.sourceGave(4)
    try taken.read(Self.hello)
    #expect(taken.exchange.reading == .complete && taken.exchange.writing == .body)
    #expect(try taken.exchange.sourceGave(6)?.count == 6)
    #expect(try taken.exchange.sourceEnded() == [])
    #expect(taken.exchange.timer == .grace)
    taken.exchange.wroteAll()
    #expect(taken.exchange.connection == .reusable)

    var closing = ExchangeLab(HTTP1Exchange(.length(10)))
    closing.exchange.started()
    try closing.read("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    #expect(closing.exchange.connection == .toClose, "the server will not read the rest")
  }

  @Test("A final response instead of 100 starts the body below 300 and cancels it otherwise")
  func finalInsteadOfContinue() throws {
    for (status, isWanted) in [(200, true), (204, true), (299, true), (300, false), (304, false), (403, false)] {
      for isHeadOut in [false, true] {
        var lab = ExchangeLab(HTTP1Exchange(.length(10), expectsContinue: true))
        lab.exchange.started()
        if isHeadOut { lab.exchange.wroteAll() }
        try lab.read("HTTP/1.1 \(status) X\r\nETag: a\r\n")
        try lab.read(status == 204 || status == 304 ? "\r\n" : "Content-Length: 5\r\n\r\nhel")
        #expect(try lab.exchange.sourceGave(10)?.count == (isWanted ? 10 : nil), "\(status)")
        #expect(!lab.exchange.continueTimedOut)
        guard isWanted else { continue }
        #expect(try lab.exchange.sourceEnded() == [])
        lab.exchange.wroteAll()
        if status != 204 { try lab.read("lo") }
        #expect(lab.exchange.connection == .reusable)
      }
    }
  }

  @Test("A bodiless response that announces a body closes the connection; HEAD and 304 may announce one")
  func bytesWithoutAsking() throws {
    let both = "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"
    let rows: [(ResponseReader.Request, Int, String, HTTP1Exchange.Connection)] = [
      (.ordinary, 204, "", .reusable), (.ordinary, 204, "Content-Length: 0\r\n", .reusable),
      (.ordinary, 204, "Content-Length: 3\r\n", .toClose), (.ordinary, 204, "Transfer-Encoding: chunked\r\n", .toClose),
      (.ordinary, 204, both, .toClose), (.ordinary, 304, "Content-Length: 3\r\n", .reusable),
      (.ordinary, 304, "Transfer-Encoding: chunked\r\n", .reusable), (.ordinary, 304, both, .toClose),
      (.head, 200, "Content-Length: 3\r\n", .reusable), (.head, 200, "Transfer-Encoding: chunked\r\n", .reusable),
      (.head, 200, both, .toClose), (.head, 200, "Content-Length: x\r\n", .toClose),
    ]
    for (request, status, fields, connection) in rows {
      var lab = ExchangeLab(HTTP1Exchange(.none, to: request))
      lab.exchange.started()
      lab.exchange.wroteAll()
      try lab.read("HTTP/1.1 \(status) X\r\n\(fields)\r\n")
      #expect(lab.exchange.connection == connection, "\(status) \(fields)")
    }
  }

  @Test("After a failed write a pending response is read; without one the wait ends after a second")
  func writeFailure() throws {
    var lab = ExchangeLab(HTTP1Exchange(.length(10)))
    lab.exchange.started()
    lab.exchange.wroteSome()
    lab.exchange.writeFailed()
    #expect(lab.exchange.timer == .grace)
    try lab.read("HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\n")
    #expect(lab.exchange.timer == nil, "a response that has begun has its own limit")
    try lab.read("no")
    #expect(lab.exchange.connection == .toClose && lab.exchange.status == 413)
  }

  @Test("Bytes behind a 101, and behind a 2xx to CONNECT, belong to the caller")
  func tunnels() throws {
    for (request, head) in [(ResponseReader.Request.upgrade, "101 Switch"), (.connect, "200 OK")] {
      var exchange = sent(to: request)
      let bytes = Array("HTTP/1.1 \(head)\r\nContent-Length: 9\r\n\r\n\u{1}\u{2}".utf8)
      var position = 0
      try bytes.withBytes { bytes throws(HTTP1Failure) in
        guard case .head = try exchange.next(in: bytes, at: &position) else {
          Issue.record("no head")
          return
        }
        #expect(try exchange.next(in: bytes, at: &position) == .tunnel)
        #expect(try exchange.next(in: bytes, at: &position) == .tunnel)
      }
      #expect(bytes.count - position == 2)
      #expect(exchange.connection == .handedOver)
    }
    var lab = ExchangeLab(sent())
    #expect(throws: HTTP1Failure.self) { try lab.read("HTTP/1.1 101 Switch\r\n\r\n") }
  }

  @Test("Trailers are sent and received")
  func trailers() throws {
    var lab = ExchangeLab(HTTP1Exchange(.chunked))
    lab.exchange.started()
    let end = try lab.exchange.sourceEnded([ResponseHead.Field(name: "X-Sum", value: "1")])
    #expect(end.map { String(decoding: $0, as: UTF8.self) } == "0\r\nX-Sum: 1\r\n\r\n")
    lab.exchange.wroteAll()
    try lab.read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 2\r\nHost: no\r\n\r\n")
    #expect(lab.exchange.trailers == [ResponseHead.Field(name: "X-Sum", value: "2")])
    #expect(lab.exchange.connection == .reusable)
  }

  @Test("Limits and grammar are the reader's, and its violations are passed on")
  func violations() {
    var exchange = HTTP1Exchange(.none, limits: ExchangeLimits(fields: 0))
    exchange.started()
    exchange.wroteAll()
    var lab = ExchangeLab(exchange)
    let failure = #expect(throws: HTTP1Failure.self) { try lab.read(Self.hello) }
    let violation: HeadViolation? = if case .answer(let found) = failure?.kind { found } else { nil }
    #expect(violation?.kind == .tooManyFields)
    #expect(lab.exchange.connection == .toClose)
  }

  @Test("Random histories agree with a simple model", arguments: 0..<4)
  func histories(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    for round in 0..<2_500 / SeedStride.value {
      let length = [0, 10, 10, nil].randomElement(using: &random) ?? nil
      let expects = Bool.random(using: &random)
      var model = HTTP1ExchangeModel(length: length, expects: expects)
      var lab = ExchangeLab(
        HTTP1Exchange(length.map { .length(Int64($0)) } ?? .chunked, to: .upgrade, expectsContinue: expects))
      var history: [ExchangeEvent] = []
      // Most histories begin with a valid event, so that they reach later states.
      if Int.random(in: 0..<8, using: &random) > 0 { history.append(.started) }
      for event in history { _ = (model.apply(event), lab.apply(event)) }
      for _ in 0..<16 {
        let events = ExchangeEvent.allCases.filter { ExchangeLab.canOccur($0, at: lab.state) && $0 != history.last }
        guard let event = events.randomElement(using: &random) else { break }
        history.append(event)
        let (expected, actual) = (model.apply(event), lab.apply(event))
        guard expected == actual else {
          Issue.record("round \(round): \(history) with \(length ?? -1), \(expects): \(actual), not \(expected)")
          return
        }
        if lab.exchange.connection == .reusable, lab.exchange.requestSent {
          #expect(lab.exchange.writing == .sent && lab.exchange.reading == .complete)
        }
        if lab.exchange.connection != .inUse { break }
      }
    }
  }
}

/// A model of an exchange in terms of facts instead of states: the bytes sent, the messages received, and the side that
/// stopped. The model knows events, but not bytes.
struct HTTP1ExchangeModel {
  enum Answer { case nothing, begun, head, whole }

  let length: Int?
  let expects: Bool
  var hasStarted = false, headIsOut = false, mayGiveBody: Bool, sourceIsDone = false, isOut = false
  var refused = false, broke = false
  var given = 0
  var answer = Answer.nothing
  var bodyLeft = 0
  /// `CLOSE`, `REUSE` or `HAND` if the exchange is over.
  var over: String?

  init(length: Int?, expects: Bool) {
    self.length = length
    self.expects = expects && length != 0
    mayGiveBody = !self.expects
  }

  var hasBody: Bool { length != 0 }
  var wantsBody: Bool { hasStarted && hasBody && mayGiveBody && !sourceIsDone && !refused && !broke }
  var isGiven: Bool { hasStarted && (!hasBody || sourceIsDone) }

  /// The mark of the running timer; empty if no timer runs.
  var waits: String {
    if broke { return answer == .nothing || answer == .begun ? "+" : "" }
    if !isOut, !refused, answer == .whole { return "+" }
    return hasStarted && !mayGiveBody && !refused && headIsOut ? "+" : ""
  }

  var state: String {
    if let over { return over }
    let writing =
      !hasStarted && !broke
      ? "head"
      : broke
        ? "broken"
        : refused ? "stop" : !mayGiveBody ? "await" : !isGiven ? "body" : isOut ? "sent" : "flush"
    let reading = [.nothing: "waiting", .begun: "head", .head: "body", .whole: "complete"][answer] ?? ""
    return writing + "/" + reading + waits
  }

  mutating func apply(_ event: ExchangeEvent) -> String {
    if over == nil, let failure = happen(event) {
      over = "CLOSE"
      return failure
    }
    if over == nil, answer == .whole {
      if refused || broke { over = "CLOSE" } else if isGiven, isOut { over = "REUSE" }
    }
    return state
  }

  private var isLost: String { [.nothing: "!early", .begun: "!head"][answer] ?? "!cut" }

  /// Applies an event.
  ///
  /// - Returns: the failure of the exchange; `nil` if it continues.
  private mutating func happen(_ event: ExchangeEvent) -> String? {
    switch event {
    case .started: if !broke { hasStarted = true }
    case .some: break
    case .all:
      headIsOut = headIsOut || hasStarted && !broke && !refused
      isOut = isOut || isGiven && !broke
    case .gave: return give(3)
    case .more: return give(11)
    case .end: return give(6) ?? (over == nil ? endSource() : nil)
    case .short: return endSource()
    case .broken: if !refused { broke = true }
    case .timer: return fireTimer()
    case .clean, .torn:
      guard answer == .whole else { return isLost }
      over = "CLOSE"
    default: return hear(event)
    }
    return nil
  }

  private mutating func give(_ count: Int) -> String? {
    guard wantsBody else { return nil }
    if let length, given + count > length { return spoil("!body") }
    given += count
    return nil
  }

  private mutating func endSource() -> String? {
    guard wantsBody else { return nil }
    if let length, given < length { return spoil("!body") }
    sourceIsDone = true
    return nil
  }

  /// Handles a request that cannot be completed. This matters only if the response is still incomplete.
  private mutating func spoil(_ failure: String) -> String? {
    if answer == .whole {
      over = "CLOSE"
      return nil
    }
    return failure
  }

  private mutating func fireTimer() -> String? {
    guard !waits.isEmpty else { return nil }
    if answer == .whole { over = "CLOSE" } else if broke { return isLost } else { mayGiveBody = true }
    return nil
  }

  /// Handles an event of the server.
  private mutating func hear(_ event: ExchangeEvent) -> String? {
    if !hasStarted, !broke { return "!early" }
    switch event {
    case .part, .hints: answer = .begun
    case .continues:
      answer = .begun
      if !broke { mayGiveBody = true }
    case .noise: return "!answer"
    case .upgrade:
      guard isGiven, !broke else { return "!answer" }
      over = "HAND"
    case .ok, .refuses, .empty:
      if !broke, !isGiven {
        if event == .refuses { refused = true } else { mayGiveBody = true }
      }
      answer = event == .empty ? .whole : .head
      bodyLeft = 3
    case .data, .rest:
      bodyLeft -= event == .data ? 1 : 2
      if bodyLeft <= 0 { answer = .whole }
      if bodyLeft < 0 { over = "CLOSE" }
    case .extra: over = "CLOSE"
    default: break
    }
    return nil
  }
}
