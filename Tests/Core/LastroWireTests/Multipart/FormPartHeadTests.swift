// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Form part heads")
struct FormPartHeadTests {
  private func text(_ head: FormPartHead) throws -> String {
    String(decoding: head.bytes(try #require(MultipartBoundary("b"))), as: UTF8.self)
  }

  @Test("A head names the part, its file, its type and further fields, in that order")
  func heads() throws {
    #expect(try text(FormPartHead(name: "a")) == "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n")
    let head = FormPartHead(
      name: "a", filename: "ü.txt", contentType: "text/plain", fields: [ResponseHead.Field(name: "X", value: "y")])
    #expect(
      try text(head)
        == "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"ü.txt\"\r\nContent-Type: text/plain\r\nX: y\r\n\r\n"
    )
    #expect(FormPartHead.close(try #require(MultipartBoundary("b"))) == Array("--b--\r\n".utf8))
  }

  @Test("Quotes and line ends are escaped as browsers do, and names have complete line ends")
  func escapes() throws {
    let head = try text(FormPartHead(name: "a\"\r\nb\rc\nd\\%22", filename: "e\"\r\nf\rg\nh\\"))
    #expect(head.contains(#"name="a%22%0D%0Ab%0D%0Ac%0D%0Ad\%22"; filename="e%22%0D%0Af%0Dg%0Ah\""#))
  }

  @Test(
    "A single CR or LF becomes CRLF",
    arguments: [
      ("a", "a"), ("\r", "\r\n"), ("\n", "\r\n"), ("\r\n", "\r\n"), ("\n\r", "\r\n\r\n"), ("\r\r\n", "\r\n\r\n"),
      ("a\rb\nc\r\nd", "a\r\nb\r\nc\r\nd"), ("\r\u{301}", "\r\n\u{301}"), ("", ""),
    ])
  func lineEnds(text: String, normalized: String) {
    #expect(FormPartHead.normalized(text).utf8.elementsEqual(normalized.utf8))
  }
}
