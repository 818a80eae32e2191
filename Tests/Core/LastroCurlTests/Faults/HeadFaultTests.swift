// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Invalid response heads, and heads that exceed the limits.
@Suite("Faults: response heads", .overEachLink, .ownThread, .timeLimit(.minutes(15)))
struct HeadFaultTests {
  private static let malformed = Outcome.failed("response/malformed_response")
  private static let headLimit = Outcome.failed("limit/head_too_large")

  private static func head(_ lines: String) -> String {
    "HTTP/1.1 200 OK\r\n\(lines)\r\nContent-Length: 2\r\n\r\nhi"
  }

  private static func status(_ line: String) -> String { "\(line)\r\nContent-Length: 2\r\n\r\nhi" }

  static let statusLines = [
    Fault("HTTP/0.9", "<html>hi</html>", malformed),
    Fault("garbage", [0x00, 0xFF, 0x16, 0x03, 0x01, 0x0D, 0x0A, 0x0D, 0x0A], malformed),
    Fault("the banner of another protocol", "SSH-2.0-OpenSSH_9.2p1\r\n", malformed),
    Fault("only line ends", "\r\n\r\n\r\n\r\n", malformed),
    Fault("bytes before the status line", "x" + status("HTTP/1.1 200 OK"), malformed),
    Fault("a line end before the status line", "\r\n" + status("HTTP/1.1 200 OK"), malformed),
    Fault("status 99", status("HTTP/1.1 99 Low"), malformed),
    Fault("status 099", status("HTTP/1.1 099 Low"), malformed),
    Fault("status 000", status("HTTP/1.1 000 None"), malformed),
    Fault("status 1000", status("HTTP/1.1 1000 High"), malformed),
    Fault("status -200", status("HTTP/1.1 -200 OK"), malformed),
    Fault("status 2x0", status("HTTP/1.1 2x0 OK"), malformed),
    Fault("no status", status("HTTP/1.1"), malformed),
    Fault("two spaces before the status", status("HTTP/1.1  200 OK"), malformed),
    Fault("a tab before the status", status("HTTP/1.1\t200 OK"), malformed),
    Fault("version 1.2", status("HTTP/1.2 200 OK"), malformed),
    Fault("version 4.0", status("HTTP/4.0 200 OK"), malformed),
    Fault("no version", status("HTTP/ 200 OK"), malformed),
    Fault("lower case", status("http/1.1 200 OK"), malformed),
    Fault("another name", status("ICY 200 OK"), malformed),
    Fault("NUL in the reason", status("HTTP/1.1 200 O\0K"), malformed),
    Fault("an HTTP/2 status line over a connection that is not", status("HTTP/2 200 OK"), malformed),
    Fault("status 999", status("HTTP/1.1 999 Odd"), .answered(999, "hi")),
    Fault("an empty reason", status("HTTP/1.1 200 "), .answered(200, "hi")),
    Fault("no reason", status("HTTP/1.1 200"), .answered(200, "hi")),
    Fault("a reason in UTF-8", status("HTTP/1.1 200 Schön"), .answered(200, "hi")),
    Fault("HTTP/1.0", status("HTTP/1.0 200 OK"), .answered(200, "hi")),
    Fault(
      "unsolicited 101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", malformed),
  ]

  static let fields = [
    Fault("a bare CR in a value", head("A: b\rc"), malformed),
    Fault("NUL in a value", head("A: b\0c"), malformed),
    Fault("NUL in a name", head("A\0B: c"), malformed),
    Fault("a control character in a value", head("A: b\u{1}c"), malformed),
    Fault("DEL in a value", head("A: b\u{7F}c"), malformed),
    Fault("a space in a name", head("A B: c"), malformed),
    Fault("a space before the colon", head("A : b"), malformed),
    Fault("an empty name", head(": b"), malformed),
    Fault("no colon", head("nonsense"), malformed),
    Fault("a name in UTF-8", head("Größe: 1"), malformed),
    Fault("a fold before the first field", head(" folded: x"), malformed),
    Fault("a folded line", head("A: b\r\n  c\r\n\td"), .answered(200, "hi")),
    Fault("an empty value", head("A:"), .answered(200, "hi")),
    Fault("no space after the colon", head("A:b"), .answered(200, "hi")),
    Fault("LF alone at the ends", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", .answered(200, "hi")),
  ]

  static let floods = [
    Fault("500 fields", head((0..<499).map { "A\($0): b" }.joined(separator: "\r\n")), .answered(200, "hi")),
    Fault("501 fields", head((0..<500).map { "A\($0): b" }.joined(separator: "\r\n")), headLimit),
    Fault(
      "fields without end",
      Array("HTTP/1.1 200 OK\r\n".utf8) + Array(repeatElement(Array("A: b\r\n".utf8), count: 40_000).joined()),
      headLimit),
    Fault("a field of 99 KiB", head("A: " + String(repeating: "b", count: 99 * 1024)), .answered(200, "hi")),
    Fault("a field of 300 KiB", head("A: " + String(repeating: "b", count: 300 * 1024)), headLimit),
    Fault(
      "400 KiB in fields of 8 KiB",
      head(repeatElement("A: " + String(repeating: "b", count: 8 * 1024), count: 50).joined(separator: "\r\n")),
      headLimit),
    Fault("a reason of 300 KiB", status("HTTP/1.1 200 " + String(repeating: "b", count: 300 * 1024)), headLimit),
    Fault(
      "a fold of 400 KiB",
      head(
        "A: b\r\n"
          + Array(repeating: " " + String(repeating: "b", count: 8 * 1024), count: 50).joined(separator: "\r\n")),
      headLimit),
    Fault(
      "32 interim responses",
      String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 32) + status("HTTP/1.1 200 OK"),
      .answered(200, "hi")),
    Fault(
      "33 interim responses",
      String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 33) + status("HTTP/1.1 200 OK"),
      .failed("limit/too_many_interim_responses")),
    Fault(
      "interim responses without end", String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 10_000),
      .failed("limit/too_many_interim_responses")),
    Fault(
      "501 trailers",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
        + String(repeating: "A: b\r\n", count: 501) + "\r\n", headLimit),
  ]

  @Test("Faulty status lines have the expected outcome", arguments: statusLines)
  func statusLine(_ fault: Fault) async throws {
    let outcome = try await play(fault)
    #expect(outcome == fault.expected)
  }

  @Test("Faulty field lines have the expected outcome", arguments: fields)
  func field(_ fault: Fault) async throws {
    let outcome = try await play(fault)
    #expect(outcome == fault.expected)
  }

  @Test("Heads beyond the limits are refused", arguments: floods)
  func flood(_ fault: Fault) async throws {
    let outcome = try await play(fault)
    #expect(outcome == fault.expected)
  }

  @Test("A head of 400 KiB is read if maximumHeadBytes allows it")
  func largeHead() async throws {
    let fields = repeatElement("A: " + String(repeating: "b", count: 8 * 1024), count: 50)
    let server = try faultServer(Fault("", Self.head(fields.joined(separator: "\r\n")), Self.headLimit))
    let engine = try LinkKind.current.engine { $0.maximumHeadBytes = 1 << 20 }
    #expect(await engine.outcome(server) == .answered(200, "hi"))
  }

  @Test("A folded line is joined with one space")
  func fold() async throws {
    let server = try faultServer(Fault("", Self.head("A: b\r\n   c\r\n\td"), .answered(200, "hi")))
    let response = try await LinkKind.current.engine().execute(.to(server))
    #expect(response.head.headerFields[HTTPField.Name("A")!] == "b c d")
  }

  @Test("After an unsolicited 101 the connection is not reused")
  func upgradeIsNotPooled() async throws {
    let server = try faultServer(
      Fault("", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", Self.malformed, closes: false))
    let engine = try LinkKind.current.engine()
    let fault = await engine.outcome(server, "/fault")
    #expect(fault == Self.malformed)
    let ok = await engine.outcome(server, "/ok")
    #expect(ok == .answered(200, "fine"))
    #expect(server.requests.map(\.connection) == [1, 2])
  }
}
