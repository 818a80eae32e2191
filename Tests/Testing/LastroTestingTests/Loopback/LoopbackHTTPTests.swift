// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import TestSupport
import Testing

@Suite("Loopback HTTP server")
struct LoopbackHTTPTests {
  private func echo() throws -> LoopbackServer {
    try .http { .text("\($0.method) \($0.pathSegments) \($0.queryItem("q") ?? "-") \($0.text)") }
  }

  @Test("Keep-alive serves one request after another over one connection")
  func keepAlive() throws {
    let server = try echo()
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("GET /a/b%20c?q=d%26e HTTP/1.1\r\nHost: h\r\n\r\n")
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
    #expect(client.receive(until: "d&e ") == head + "Content-Length: 21\r\n\r\nGET [\"a\", \"b c\"] d&e ")
    try client.send("POST / HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
    let (text, ending) = client.receiveAll()
    #expect(text == head + "Content-Length: 12\r\nConnection: close\r\n\r\nPOST [] - hi")
    #expect(ending == .orderly)
    #expect(server.acceptedConnections == 1)
    #expect(server.requests.map(\.method) == ["GET", "POST"])
  }

  @Test("A percent sign without two digits behind it is not decoded")
  func percentSigns() throws {
    let server = try echo()
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("GET /a%+5/%-0%4?q=%+1 HTTP/1.1\r\nConnection: close\r\n\r\n")
    #expect(client.receiveAll().text.hasSuffix("GET [\"a%+5\", \"%-0%4\"] %+1 "))
  }

  @Test("HEAD, 204 and 304 have no body")
  func noBody() throws {
    let server = try LoopbackServer.http { request in
      LoopbackResponse(status: Int(request.pathSegments.first ?? "") ?? 200, body: Array("body".utf8))
    }
    for (line, length) in [("HEAD /200", true), ("GET /204", false), ("GET /304", false)] {
      let client = try LoopbackClient(to: server.endpoint)
      try client.send("\(line) HTTP/1.1\r\nConnection: close\r\n\r\n")
      let text = client.receiveAll().text
      #expect(text.hasSuffix("Connection: close\r\n\r\n"))
      #expect(text.contains("Content-Length: 4") == length)
    }
  }

  @Test("Expect: 100-continue is answered before the body is awaited")
  func expectContinue() throws {
    let server = try echo()
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
    #expect(client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    try client.send("2\r\nhi\r\n0\r\n\r\n")
    #expect(client.receive(until: "hi").hasSuffix("POST [] - hi"))
  }

  @Test("HTTP/1.0 closes, a malformed request gets a 400, and a throwing handler a 500")
  func others() throws {
    let server = try LoopbackServer.http { _ in throw LoopbackError.stopped }
    let texts = ["GET / HTTP/1.0\r\n\r\n": "500", "nonsense\r\n\r\n": "400"]
    for (text, status) in texts {
      let client = try LoopbackClient(to: server.endpoint)
      try client.send(text)
      let answer = client.receiveAll()
      #expect(answer.text.hasPrefix("HTTP/1.1 \(status) "))
      #expect(answer.ending == .orderly)
    }
  }

  @Test("HEAD gets no body, although its response has a fault within the body")
  func faultOfHead() throws {
    let server = try LoopbackServer.http { _ in
      LoopbackResponse(body: Array("12345".utf8), fault: .truncateBody(after: 3))
    }
    let client = try LoopbackClient(to: server.endpoint)
    try client.send("HEAD / HTTP/1.1\r\n\r\n")
    #expect(client.receiveAll().text == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
  }

  @Test("Faults take the place of a response")
  func faults() throws {
    let root = try CertificateAuthority()
    let tls = LoopbackTLS(try root.issue(hosts: ["localhost"]))
    let server = try LoopbackServer.http(tls: tls) { request in
      let fault: LoopbackResponse.Fault =
        switch request.path {
        case "/reset": .reset
        case "/close": .close
        default: .truncateBody(after: 3)
        }
      return LoopbackResponse(body: Array("12345".utf8), fault: fault)
    }
    let cases: [(String, LoopbackClient.Ending, String)] = [
      ("/reset", .reset, ""), ("/close", .orderly, ""),
      ("/truncate", .truncated, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n123"),
    ]
    for (path, ending, text) in cases {
      let client = try LoopbackClient(to: server.endpoint, trusting: root.rootPEM)
      try client.send("GET \(path) HTTP/1.1\r\n\r\n")
      let answer = client.receiveAll()
      #expect(answer.text == text)
      #expect(answer.ending == ending)
    }
  }
}
