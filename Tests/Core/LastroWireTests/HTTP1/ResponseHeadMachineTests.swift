// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Response heads")
struct ResponseHeadMachineTests {
  @Test(
    "A cookie with a control character is dropped, and the rest of the head is kept",
    arguments: [
      "Set-Cookie: a=\u{1}", "set-cookie:\u{7f}", "SET-COOKIE: a=b\u{8}; Path=/", "Set-Cookie: a=\u{1}\r\n  b\r\n\tc",
    ])
  func spoiltCookie(line: String) {
    let good = "HTTP/1.1 200 OK\r\nServer: a\r\n"
    for known in [nil, HeadFeeding(good + "Set-X: b\r\nContent-Length: 2\r\n\r\n").machine.known] {
      let text = good + "\(line)\r\nContent-Length: 2\r\nX: y\r\n z\r\n\r\n"
      let lines = Array(text.utf8).split(separator: 0x0A).map { Array($0) + [0x0A] }
      let fed = HeadFeeding(lines: lines, resembling: known)
      #expect(fed.violation == nil)
      #expect(fed.final?.fields.map(\.name) == ["Server", "Content-Length", "X"])
      #expect(fed.final?.fields.last?.value == "y z" && fed.machine.framing.contentLength == 2)
      #expect(fed.machine.known == nil)
    }
  }

  @Test(
    "A folded line is read after an interim head from which a cookie was dropped",
    arguments: ["X: y", "Content-Length: 2"])
  func foldBehindInterimHead(line: String) {
    let known = HeadFeeding("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n").machine.known
    let text =
      "HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=\u{1}\r\n\r\n" + "HTTP/1.1 200 OK\r\n\(line)\r\n 0\r\n\r\n"
    let lines = Array(text.utf8).split(separator: 0x0A).map { Array($0) + [0x0A] }
    let fed = HeadFeeding(lines: lines, resembling: known)
    if line.hasPrefix("X") {
      #expect(fed.final?.fields.last?.value == "y 0")
    } else {
      #expect(fed.violation?.kind == .fieldValue)
    }
  }

  @Test(
    "NUL and CR are refused in a cookie too, and in other fields any control character is refused",
    arguments: ["Set-Cookie: a\0", "Set-Cookie: a\rb", "Set-Cookies: a\u{1}", "X: a\u{1}", "Set-Cookie : a\u{1}"])
  func spoiltField(line: String) {
    #expect(HeadFeeding("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n").violation != nil)
  }

  @Test("An ordinary head is reported complete and in order")
  func ordinary() throws {
    let fed = HeadFeeding("HTTP/1.1 200 OK\r\nB: 2\r\nA:1\r\nb: \t3 \t\r\nEmpty:\r\n\r\n")
    #expect(fed.violation == nil)
    let head = try #require(fed.final)
    #expect(head.version == (1, 1))
    #expect(head.status == 200)
    #expect(head.reason == "OK")
    #expect(head.fields.map(\.name) == ["B", "A", "b", "Empty"])
    #expect(head.fields.map(\.value) == ["2", "1", "3", ""])
  }

  @Test(
    "Valid status lines are accepted",
    arguments: [
      ("HTTP/1.0 200 OK", 200, "OK"), ("HTTP/1.1 404 Not Found", 404, "Not Found"), ("HTTP/1.1 204", 204, ""),
      ("HTTP/1.1 200 ", 200, ""), ("HTTP/2 200 ", 200, ""), ("HTTP/2 503", 503, ""), ("HTTP/3 200 ", 200, ""),
      ("HTTP/1.1 999 Odd", 999, "Odd"), ("HTTP/1.1 200 \tA b", 200, "A b"),
    ])
  func goodStatusLine(line: String, status: Int, reason: String) throws {
    let head = try #require(HeadFeeding(line + "\r\n\r\n").final)
    #expect(head.status == status)
    #expect(head.reason == reason)
  }

  @Test(
    "Invalid status lines are refused",
    arguments: [
      "", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1 20", "HTTP/1.1 2x0 OK", "HTTP/1.1 099 Low", "HTTP/1.1 1000 High",
      "HTTP/1.1 200OK", "HTTP/1.1  200 OK", "HTTP/1.1\t200 OK", "HTTP/1.2 200 OK", "HTTP/0.9 200 OK", "HTTP/9 200 ",
      "HTTP/1.1 -20 OK", "HTTP/1.1 200.5", "http/1.1 200 OK", " HTTP/1.1 200 OK", "ICY 200 OK", "HTTP/01.1 200 OK",
      "HTTP/1.10 200 OK", "HTTP/2200 ", "HTTP/2.0 200 OK", "Content-Length: 0",
    ])
  func badStatusLine(line: String) {
    let fed = HeadFeeding(line + "\r\n\r\n")
    #expect(fed.violation?.kind == .statusLine)
    #expect(fed.events.isEmpty)
  }

  @Test("A control character in the reason phrase is refused", arguments: ["a\u{0}b", "a\rb", "a\u{1B}b", "a\u{7F}"])
  func badReason(reason: String) {
    #expect(HeadFeeding("HTTP/1.1 200 \(reason)\r\n\r\n").violation?.kind == .fieldValue)
  }

  @Test(
    "Invalid field lines are refused",
    arguments: [
      ("NoColon", HeadViolation.Kind.fieldName), (": value", .fieldName), ("Name : value", .fieldName),
      ("Na me: value", .fieldName), ("Na\tme: value", .fieldName), ("Näme: value", .fieldName),
      ("Na\u{0}me: value", .fieldName), ("Name\r: value", .fieldName), ("(Name): value", .fieldName),
      ("Name: a\u{0}b", .fieldValue), ("Name: a\rb", .fieldValue), ("Name: a\u{8}b", .fieldValue),
      ("Name: \u{7F}", .fieldValue), ("Name: a\r", .fieldValue),
    ])
  func badField(line: String, kind: HeadViolation.Kind) {
    #expect(HeadFeeding("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n").violation?.kind == kind)
    #expect(HeadFeeding("HTTP/1.1 103 Early Hints\r\n\(line)\r\n\r\n").violation?.kind == kind)
    #expect(Self.violation(ofTrailers: "\(line)\r\n\r\n")?.kind == kind, "as a trailer")
  }

  private static func violation(ofTrailers text: String) -> HeadViolation? {
    var section = TrailerSection(maximumBytes: 1_000, maximumFields: 10)
    var position = 0
    do throws(HeadViolation) {
      _ = try Array(text.utf8).withBytes { bytes throws(HeadViolation) in try section.consume(bytes, from: &position) }
      return nil
    } catch {
      return error
    }
  }

  @Test("LF alone ends a line")
  func lineFeeds() {
    let fed = HeadFeeding("HTTP/1.1 200 OK\nA: 1\n\n")
    #expect(fed.final?.fields.first?.value == "1")
  }

  @Test("A line without an end is refused", arguments: ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r"])
  func noLineEnd(text: String) {
    #expect(HeadFeeding(text).violation?.kind == .lineEnd)
  }

  @Test("A folded line is joined with one space")
  func fold() {
    let fed = HeadFeeding("HTTP/1.1 200 OK\r\nA: 1\r\n  2\r\n\t3  \r\nB:\r\n 4\r\n\r\n")
    #expect(fed.final?.fields.map(\.value) == ["1 2 3", "4"])
  }

  @Test("A fold before the first field is refused")
  func foldFirst() {
    #expect(HeadFeeding("HTTP/1.1 200 OK\r\n Host: x\r\n\r\n").violation?.kind == .fieldName)
  }

  @Test(
    "A fold in a framing field is refused", arguments: ["Content-Length: 1\r\n 2", "transfer-encoding:\r\n chunked"])
  func foldInFraming(fields: String) {
    #expect(HeadFeeding("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n").violation?.kind == .fieldValue)
  }

  @Test("A control character in a fold is refused, and so is any fold in trailers")
  func badFold() {
    let fields = "A: 1\r\n \u{0}\r\n\r\n"
    #expect(HeadFeeding("HTTP/1.1 200 OK\r\n" + fields).violation?.kind == .fieldValue)
    #expect(Self.violation(ofTrailers: fields)?.kind == .fieldName)
  }

  @Test("A UTF-8 value is kept, and any other is read as ISO 8859-1")
  func encodings() {
    #expect(HeadFeeding("HTTP/1.1 200 OK\r\nA: é\r\n\r\n").final?.fields.first?.value == "é")
    let latin = Array("HTTP/1.1 200 OK\r\nA: ".utf8) + [0xE9, 0x0D, 0x0A, 0x0D, 0x0A]
    #expect(HeadFeeding(latin).final?.fields.first?.value == "é")
  }

  @Test("Interim responses are reported before the final one")
  func interim() {
    let fed = HeadFeeding("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
    let link = ResponseHead.Field(name: "Link", value: "<a>")
    #expect(
      fed.events.prefix(2) == [
        .interim(ResponseHead(version: (1, 1), status: 100, reason: "Continue")),
        .interim(ResponseHead(version: (1, 1), status: 103, reason: "Early", fields: [link])),
      ])
    #expect(fed.final?.fields.isEmpty == true)
  }

  @Test("A 101 that was not requested is refused")
  func upgrade() {
    #expect(
      HeadFeeding("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n").violation?.kind == .unexpectedUpgrade)
  }
}

/// The result of feeding a machine with a text line by line, up to the final head.
struct HeadFeeding {
  var events: [ResponseHeadMachine.Event] = []
  var violation: HeadViolation?
  var machine: ResponseHeadMachine

  init(
    lines: [[UInt8]], maximumHeadBytes: Int = 65_536, maximumFields: Int = 100,
    maximumInterimResponses: Int = 10, resembling known: KnownHead? = nil
  ) {
    machine = ResponseHeadMachine(
      maximumHeadBytes: maximumHeadBytes, maximumFields: maximumFields,
      maximumInterimResponses: maximumInterimResponses)
    for line in lines {
      do {
        let event = try line.withUnsafeBytes { try machine.consume(line: $0, resembling: known) }
        if event != .needsMore { events.append(event) }
        if case .final = event { return }
      } catch {
        violation = error as? HeadViolation
        return
      }
    }
  }

  init(
    _ bytes: some Collection<UInt8>, maximumHeadBytes: Int = 65_536, maximumFields: Int = 100,
    maximumInterimResponses: Int = 10, resembling known: KnownHead? = nil
  ) {
    self.init(
      lines: Self.lines(bytes), maximumHeadBytes: maximumHeadBytes,
      maximumFields: maximumFields, maximumInterimResponses: maximumInterimResponses, resembling: known)
  }

  /// Returns the lines, including their line ends.
  static func lines(_ bytes: some Collection<UInt8>) -> [[UInt8]] {
    var rest = Array(bytes)[...]
    var lines: [[UInt8]] = []
    while !rest.isEmpty {
      let end = rest.firstIndex(of: 0x0A).map { $0 + 1 } ?? rest.endIndex
      lines.append(Array(rest[..<end]))
      rest = rest[end...]
    }
    return lines
  }

  init(_ text: String) { self.init(Array(text.utf8)) }

  var final: ResponseHead? {
    for case .final(let head) in events { return head }
    return nil
  }
}

extension HeadFeeding: Equatable {
  /// Returns whether both feedings led to the same verdict in every respect.
  static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.events == rhs.events && lhs.violation == rhs.violation && lhs.machine.framing == rhs.machine.framing
  }
}
