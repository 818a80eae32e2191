// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import Testing

/// No setting of one request may affect the next on the same connection.
@Suite("Reused handles", .timeLimit(.minutes(15)))
struct HandleReuseTests {
  private static let plain = HTTPRequest(method: .get, scheme: "http", authority: nil, path: "/plain")

  /// Sends the requests one after another, and returns those that the server received.
  private func sent(_ requests: [HTTPRequest], bodies: [Int: String] = [:]) async throws -> [LoopbackRequest] {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let transport = try CurlTransport()
    for (index, request) in requests.enumerated() {
      var head = request
      head.authority = "127.0.0.1:\(server.port)"
      let body = bodies[index].map { RequestBody(source: .bytes(Data($0.utf8))) } ?? .empty
      let response = try await transport.execute(TransferRequest(head: head, body: body))
      #expect(response.head.status == .ok)
      #expect(response.body.bytes == Data((head.method == .head ? "" : "fine").utf8))
    }
    return server.requests
  }

  @Test("A GET is sent unchanged, whatever its handle served before")
  func afterOthers() async throws {
    var tagged = Self.plain
    tagged.headerFields[.acceptEncoding] = "gzip;q=0.5"
    tagged.headerFields[.userAgent] = "another"
    tagged.path = "/tagged?x=1"
    var head = Self.plain
    head.method = .head
    var post = Self.plain
    post.method = .post
    var delete = Self.plain
    delete.method = .delete
    let others = [Self.plain, tagged, head, post, delete]
    let requests = try await sent(others.flatMap { [$0, Self.plain] } + [post, Self.plain], bodies: [10: "text"])
    #expect(
      requests.map(\.method) == [
        "GET", "GET", "GET", "GET", "HEAD", "GET", "POST", "GET", "DELETE", "GET", "POST", "GET",
      ])
    let plain = requests.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    let first = try #require(plain.first)
    #expect(plain.allSatisfy { $0.target == "/plain" && $0.head == first.head && $0.body.isEmpty })
    #expect(first.head["User-Agent"]?.hasPrefix("Lastro/") == true)
    #expect(first.head["Accept-Encoding"]?.contains("gzip") == true)
    #expect(requests[2].target == "/tagged?x=1")
    #expect(requests[2].head["Accept-Encoding"] == "gzip;q=0.5")
    #expect(requests[2].head["User-Agent"] == "another")
    #expect(requests[10].text == "text")
    #expect(Set(requests.map(\.connection)) == [1])
  }

  @Test("A GET succeeds after another on its handle failed")
  func afterFailure() async throws {
    let server = try LoopbackServer.http { request in
      request.path == "/bad" ? LoopbackResponse(headers: ["Content-Length": "1, 2"], body: []) : .text("fine")
    }
    let transport = try CurlTransport()
    for path in ["/", "/bad", "/", "/bad", "/"] {
      let request = TransferRequest(
        head: HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: path))
      if path == "/bad" {
        await #expect(throws: TransportError.self) { try await transport.execute(request) }
      } else {
        #expect(try await transport.execute(request).body.bytes == Data("fine".utf8))
      }
    }
    #expect(server.requests.map(\.path) == ["/", "/bad", "/", "/bad", "/"])
  }

  @Test("Two hosts alternate on one engine")
  func hosts() async throws {
    let one = try LoopbackServer.http { _ in .text("one") }
    let other = try LoopbackServer.http { _ in .text("other") }
    let transport = try CurlTransport()
    for _ in 0..<3 {
      for (server, text) in [(one, "one"), (other, "other")] {
        let request = TransferRequest(
          head: HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/"))
        #expect(try await transport.execute(request).body.bytes == Data(text.utf8))
      }
    }
    #expect(one.requests.count == 3)
    #expect(other.requests.count == 3)
  }

  @Test("Successive response heads, equal and different, are each parsed correctly")
  func heads() async throws {
    let server = try LoopbackServer.http { request in
      LoopbackResponse(
        status: request.path == "/3" ? 203 : 200,
        headers: ["X-One": request.path == "/1" ? "b" : "a", request.path == "/2" ? "x-two" : "X-Two": "c"], body: [])
    }
    let transport = try CurlTransport()
    for path in ["/0", "/0", "/1", "/0", "/2", "/0", "/3", "/0"] {
      let request = TransferRequest(
        head: HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: path))
      let head = try await transport.execute(request).head
      #expect(head.status.code == (path == "/3" ? 203 : 200))
      let fields = head.headerFields.filter { $0.name.canonicalName.hasPrefix("x-") }
      #expect(fields.map(\.value) == [path == "/1" ? "b" : "a", "c"])
      #expect(fields.map(\.name.rawName) == ["X-One", path == "/2" ? "x-two" : "X-Two"])
    }
  }
}
