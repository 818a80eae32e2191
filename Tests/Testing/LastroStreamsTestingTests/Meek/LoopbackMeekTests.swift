// SPDX-License-Identifier: Apache-2.0

import LastroStreamsTesting
import LastroTesting
import TestSupport
import Testing

@Suite("Loopback meek server")
struct LoopbackMeekTests {
  /// Sends a request on a new connection, and returns the status and body of the response.
  private func ask(
    _ peer: LoopbackMeekServer, _ body: String, session: String = "session1", method: String = "POST"
  ) throws -> (status: String, body: String) {
    let client = try LoopbackClient(to: peer.server.endpoint)
    try client.send(
      """
      \(method) / HTTP/1.1\r\nX-Session-Id: \(session)\r\nContent-Length: \(body.utf8.count)\r\n\
      Connection: close\r\n\r\n\(body)
      """)
    let text = client.receiveAll().text
    let end = try #require(text.firstRange(of: "\r\n\r\n"))
    return (String(text.dropFirst(9).prefix(3)), String(text[end.upperBound...]))
  }

  @Test("Each session gets back what it sent, with at most 64 KiB per response")
  func sessions() throws {
    let peer = try LoopbackMeekServer()
    #expect(try ask(peer, "one") == ("200", "one"))
    #expect(try ask(peer, "two", session: "session2") == ("200", "two"))
    #expect(try ask(peer, "") == ("200", ""))
    #expect(peer.sessionCount == 2)
    #expect(peer.server.requests.map(\.text) == ["one", "two", ""])
    let flood = try LoopbackMeekServer(target: .flood)
    #expect(try ask(flood, "").body.utf8.count == LoopbackMeekServer.payloadBytes)
  }

  @Test("Invalid requests are refused and begin no session")
  func refusals() throws {
    let peer = try LoopbackMeekServer()
    #expect(try ask(peer, "", method: "GET") == ("200", "a web server"))
    #expect(try ask(peer, "", method: "PUT").status == "400")
    #expect(try ask(peer, "", session: "1234567") == ("400", "no session"))
    let body = String(repeating: "x", count: LoopbackMeekServer.payloadBytes + 1)
    #expect(try ask(peer, body) == ("413", "too much"))
    #expect(peer.sessionCount == 0)
  }

  @Test("The fault handler gets the request's number in its session, which then does not see the request")
  func fault() throws {
    let peer = try LoopbackMeekServer { number, request in
      number == 2 ? .text("not \(request.text)", status: 503) : nil
    }
    #expect(try ask(peer, "1") == ("200", "1"))
    #expect(try ask(peer, "2") == ("503", "not 2"))
    #expect(try ask(peer, "3") == ("200", "3"))
  }

  @Test("A session whose target is gone or unreachable gets a 500 and is removed")
  func lostTarget() throws {
    let target = try LoopbackServer { connection in try connection.write(connection.read(max: 100)) }
    let peer = try LoopbackMeekServer(forwardingTo: target.port)
    // The target's data, and its end of stream, may arrive with any later response.
    var answers = [try ask(peer, "one")]
    for _ in 0..<6_000 where answers.last?.status == "200" { answers.append(try ask(peer, "")) }
    #expect(answers.map(\.body).joined() == "one")
    #expect(answers.last?.status == "500")
    #expect(peer.sessionCount == 0)
    target.stop()
    #expect(try ask(peer, "two").status == "500")
    #expect(peer.sessionCount == 0)
  }
}
