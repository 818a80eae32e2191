// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Request heads")
struct RequestWriterTests {
  private func write(
    _ method: String = "GET", _ target: String = "/", _ fields: [(String, String)] = [("Host", "h")]
  ) -> Result<String, RequestViolation> {
    do throws(RequestViolation) {
      var writer = try RequestWriter(method: method, target: target)
      for (name, value) in fields { try writer.add(name, value) }
      return .success(String(decoding: try writer.finish(), as: UTF8.self))
    } catch {
      return .failure(error)
    }
  }

  private func kind(
    _ method: String = "GET", _ target: String = "/", _ fields: [(String, String)] = [("Host", "h")]
  ) -> RequestViolation.Kind? {
    if case .failure(let violation) = write(method, target, fields) { violation.kind } else { nil }
  }

  @Test("A head consists of the request line, the fields in order, and an empty line")
  func ordinary() throws {
    let fields = [("Host", "h:8080"), ("X-A", ""), ("x-a", "b \t c"), ("X-U", "é")]
    let text = try write("PATCH", "/a?b=c%20d", fields).get()
    #expect(text == "PATCH /a?b=c%20d HTTP/1.1\r\nHost: h:8080\r\nX-A: \r\nx-a: b \t c\r\nX-U: é\r\n\r\n")
    #expect(try write("CONNECT", "[::1]:443").get().hasPrefix("CONNECT [::1]:443 HTTP/1.1\r\n"))
    #expect(try write("M-SEARCH", "*").get().hasPrefix("M-SEARCH * HTTP/1.1\r\n"))
  }

  @Test("The bytes of a value are sent as they are, even if they are not UTF-8")
  func rawBytes() throws {
    var writer = try RequestWriter(method: "GET", target: "/")
    try writer.add("Host", "h")
    try [UInt8](arrayLiteral: 0x20, 0xE9, 0xFF, 0x80, 0x20).withUnsafeBufferPointer { try writer.add("A", $0) }
    #expect(try writer.finish().suffix(12) == [0x41, 0x3A, 0x20, 0x20, 0xE9, 0xFF, 0x80, 0x20, 13, 10, 13, 10])
  }

  @Test("Bytes that could end a line, a name or the target early are refused")
  func everyByte() {
    for byte in UInt8.min...UInt8.max {
      let text = "a\(String(Unicode.Scalar(byte)))b"
      let isToken = FieldSyntax.isToken(byte)
      #expect(kind(text) == (isToken ? nil : .method), "method, \(byte)")
      #expect(kind("GET", text) == ((0x21...0x7E).contains(byte) && byte != 0x23 ? nil : .target), "target, \(byte)")
      #expect(kind("GET", "/", [("Host", "h"), (text, "v")]) == (isToken ? nil : .fieldName), "name, \(byte)")
      let isValue = byte == 9 || byte >= 0x20 && byte != 0x7F
      #expect(kind("GET", "/", [("Host", "h"), ("N", text)]) == (isValue ? nil : .fieldValue), "value, \(byte)")
    }
    #expect(kind("") == .method)
    #expect(kind("GET", "") == .target)
    #expect(kind("GET", "/", [("Host", "h"), ("", "v")]) == .fieldName)
  }

  @Test("A request has one Host and one framing")
  func once() {
    let cases: [([(String, String)], RequestViolation.Kind?)] = [
      ([], .host), ([("host", "a")], nil), ([("Host", "a"), ("HOST", "a")], .host),
      ([("Host", "")], nil), ([("Host", "a b")], .host), ([("Host", "a\tb")], .host), ([("Host", "é")], .host),
      ([("Host", "a"), ("Content-Length", "5")], nil), ([("Host", "a"), ("Content-Length", "")], .framing),
      ([("Host", "a"), ("Content-Length", "5, 5")], .framing), ([("Host", "a"), ("Content-Length", "+5")], .framing),
      ([("Host", "a"), ("Content-Length", "5"), ("content-length", "5")], .framing),
      ([("Host", "a"), ("Transfer-Encoding", "chunked")], nil),
      ([("Host", "a"), ("Transfer-Encoding", "Chunked")], .framing),
      ([("Host", "a"), ("Transfer-Encoding", "gzip, chunked")], .framing),
      ([("Host", "a"), ("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")], .framing),
      ([("Host", "a"), ("Content-Length", "5"), ("Transfer-Encoding", "chunked")], .framing),
      ([("Host", "a"), ("Transfer-Encoding", "chunked"), ("Content-Length", "5")], .framing),
    ]
    for (fields, expected) in cases { #expect(kind("POST", "/", fields) == expected, "\(fields)") }
  }

  @Test("Prepared fields are sent as if added one by one, and a writer can be reused")
  func prepared() throws {
    var common = RequestWriter()
    for (name, value) in [("Host", "h"), ("Accept", "*/*")] { try common.add(name, value) }
    var writer = RequestWriter()
    for target in ["/a", "/b?c"] {
      try writer.writeRequestLine(method: "GET", target: target)
      try writer.add(common)
      try writer.add("X-Id", "1")
      try writer.writeEmptyLine()
      let alone = try write("GET", target, [("Host", "h"), ("Accept", "*/*"), ("X-Id", "1")]).get()
      #expect(writer.withBytes { String(decoding: $0, as: UTF8.self) } == alone)
    }
  }

  @Test("Conflicts between prepared and other fields are refused")
  func preparedOnce() throws {
    func kind(_ first: [(String, String)], _ second: [(String, String)]) throws -> RequestViolation.Kind? {
      var prepared = RequestWriter()
      for (name, value) in second { try prepared.add(name, value) }
      var writer = try RequestWriter(method: "POST", target: "/")
      for (name, value) in first { try writer.add(name, value) }
      do throws(RequestViolation) {
        try writer.add(prepared)
        try writer.writeEmptyLine()
        return nil
      } catch {
        return error.kind
      }
    }
    let host = [("Host", "h")], length = [("Content-Length", "1")], chunked = [("Transfer-Encoding", "chunked")]
    #expect(try kind(host, host) == .host)
    #expect(try kind(length, length) == .framing)
    #expect(try kind(length, chunked) == .framing)
    #expect(try kind(chunked, length) == .framing)
    #expect(try kind(length, host) == nil)
    #expect(try kind(host + length, [("A", "b")]) == nil)
    #expect(try kind(length, [("A", "b")]) == .host)
    var fields = RequestWriter()
    #expect(throws: RequestViolation.self) { try fields.add("A", "b\r\nC: d") }
    #expect(throws: RequestViolation.self) { try fields.add("A b", "c") }
  }
}
