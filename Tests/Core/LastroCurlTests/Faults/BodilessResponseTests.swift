// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Responses that have no body because of their status or their request method, whatever their framing fields say (RFC
/// 9112 §6.3).
@Suite("Faults: responses without a body", .overEachLink, .timeLimit(.minutes(15)))
struct BodilessResponseTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var method = HTTPRequest.Method.get
    var head: String
    /// Whether the connection can carry the next request.
    var keeps: Bool
    var testDescription: String { "\(method) \(head.debugDescription)" }
  }

  static let rows = [
    Row(head: "204 No Content\r\n", keeps: true),
    Row(head: "204 No Content\r\nContent-Length: 0\r\n", keeps: true),
    Row(head: "204 No Content\r\nContent-Length: 3\r\n", keeps: false),
    Row(head: "204 No Content\r\nTransfer-Encoding: chunked\r\n", keeps: false),
    Row(head: "204 No Content\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n", keeps: false),
    Row(head: "304 Not Modified\r\nContent-Length: 3\r\n", keeps: true),
    Row(head: "304 Not Modified\r\nTransfer-Encoding: chunked\r\n", keeps: true),
    Row(head: "304 Not Modified\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n", keeps: false),
    Row(method: .head, head: "200 OK\r\nContent-Length: 3\r\n", keeps: true),
    Row(method: .head, head: "200 OK\r\nTransfer-Encoding: chunked\r\n", keeps: true),
    Row(method: .head, head: "200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n", keeps: false),
    Row(head: "100 Continue\r\nContent-Length: 0\r\n\r\nHTTP/1.1 204 No Content\r\n", keeps: true),
    Row(head: "103 Early Hints\r\nContent-Length: 9\r\n\r\nHTTP/1.1 204 No Content\r\n", keeps: true),
    Row(head: "102 X\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\nHTTP/1.1 204 X\r\n", keeps: true),
  ]

  @Test(
    "A POST after a response without body is answered, over a connection that carries no body bytes", arguments: rows)
  func next(_ row: Row) async throws {
    let server = try LoopbackServer { connection in
      while let request = try connection.readRequest() {
        guard request.method == "POST" else {
          try connection.write("HTTP/1.1 \(row.head)\r\n")
          continue
        }
        try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n\(request.text)")
      }
    }
    let engine = try LinkKind.current.engine()
    let status = row.method == .head ? 200 : row.head.contains("304") ? 304 : 204
    #expect(await engine.outcome(server, method: row.method) == .answered(status, ""))
    let outcome = await engine.outcome(server, method: .post) { $0.body = .raw("pay") }
    #expect(outcome == .answered(200, "pay"))
    #expect(server.acceptedConnections == (row.keeps ? 1 : 2))
  }

  @Test("Body bytes that a 204 announced and sent later appear in no response")
  func lateBytes() async throws {
    let server = try LoopbackServer { connection in
      var late = ""
      while let request = try connection.readRequest() {
        if request.method == "POST" {
          try connection.write("\(late)HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
        } else {
          try connection.write("HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n")
          late = "abc"
        }
      }
    }
    let engine = try LinkKind.current.engine()
    #expect(await engine.outcome(server) == .answered(204, ""))
    let outcome = await engine.outcome(server, method: .post) { $0.body = .raw("pay") }
    #expect(outcome == .answered(200, "fine"))
  }
}
