// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Invalid requests are refused with a typed error before a connection is opened.
@Suite("Faults: invalid requests", .replayed, .timeLimit(.minutes(15)))
struct RequestRefusalTests {
  struct Input: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var expected: String
    var make: @Sendable (_ base: String, _ port: Int) throws -> ResourceRequest

    init(_ name: String, _ expected: String, _ make: @escaping @Sendable (String, Int) throws -> ResourceRequest) {
      testDescription = name
      self.expected = expected
      self.make = make
    }
  }

  private static let url = "request/invalid_url"
  private static let header = "request/invalid_header"
  private static let method = "request/invalid_method"
  private static let framing = "request/conflicting_framing"

  private static func headers(_ name: String, _ value: String) -> @Sendable (String, Int) throws -> ResourceRequest {
    { base, _ in
      var headers = RawHeaders()
      headers.append(RawHeaders.Name(name), value)
      return try ResourceRequest(url: base, headers: headers)
    }
  }

  static let inputs = [
    Input("CR LF in the method", method) { base, _ in
      try ResourceRequest(method: "GET / HTTP/1.1\r\nX: y\r\n\r\nGET", url: base)
    },
    Input("a space in the method", method) { base, _ in try ResourceRequest(method: "GE T", url: base) },
    Input("NUL in the method", method) { base, _ in try ResourceRequest(method: "GET\0", url: base) },
    Input("an empty method", method) { base, _ in try ResourceRequest(method: "", url: base) },
    Input("CR LF in the path", url) { base, _ in try ResourceRequest(url: base + "/a\r\nX: y") },
    Input("LF in the path", url) { base, _ in try ResourceRequest(url: base + "/a\nb") },
    Input("NUL in the path", url) { base, _ in try ResourceRequest(url: base + "/a\0b") },
    Input("a space in the path", url) { base, _ in try ResourceRequest(url: base + "/a b") },
    Input("CR LF in the query", url) { base, _ in try ResourceRequest(url: base + "/?a=b\r\nX: y") },
    Input("CR LF in the host", url) { _, port in try ResourceRequest(url: "http://127.0.0.1\r\n:\(port)/") },
    Input("user information", url) { _, port in try ResourceRequest(url: "http://user:secret@127.0.0.1:\(port)/") },
    Input("a user", url) { _, port in try ResourceRequest(url: "http://user@127.0.0.1:\(port)/") },
    Input("empty user information", url) { _, port in try ResourceRequest(url: "http://@127.0.0.1:\(port)/") },
    Input("no host", url) { _, _ in try ResourceRequest(url: "http:///path") },
    Input("a port and no host", url) { _, port in try ResourceRequest(url: "http://:\(port)/") },
    Input("port 0", url) { _, _ in try ResourceRequest(url: "http://127.0.0.1:0/") },
    Input("port 65536", url) { _, _ in try ResourceRequest(url: "http://127.0.0.1:65536/") },
    Input("a port with a sign", url) { _, port in try ResourceRequest(url: "http://127.0.0.1:+\(port)/") },
    Input("a port of letters", url) { _, _ in try ResourceRequest(url: "http://127.0.0.1:http/") },
    Input("no scheme", url) { _, port in try ResourceRequest(url: "127.0.0.1:\(port)/") },
    Input("ftp", "request/unsupported_scheme") { _, port in try ResourceRequest(url: "ftp://127.0.0.1:\(port)/") },
    Input("file", "request/unsupported_scheme") { _, _ in try ResourceRequest(url: "file:///etc/passwd") },
    Input("gopher", "request/unsupported_scheme") { _, port in try ResourceRequest(url: "gopher://127.0.0.1:\(port)/")
    },
    Input("CR LF in a value", header, headers("X-A", "b\r\nX-C: d")),
    Input("LF in a value", header, headers("X-A", "b\nc")),
    Input("CR in a value", header, headers("X-A", "b\rc")),
    Input("NUL in a value", header, headers("X-A", "b\0c")),
    Input("CR LF in a name", header, headers("X-A\r\nX-B", "c")),
    Input("a colon in a name", header, headers("X-A:", "c")),
    Input("a space in a name", header, headers("X A", "c")),
    Input("NUL in a name", header, headers("X\0A", "c")),
    Input("an empty name", header, headers("", "c")),
    Input("Transfer-Encoding", framing, headers("Transfer-Encoding", "chunked")),
    Input("Content-Length without a body", framing, headers("Content-Length", "5")),
    Input("Content-Length beside a body of another length", framing) { base, _ in
      try ResourceRequest(method: .post, url: base, headers: ["Content-Length": "5"], body: .raw("four"))
    },
    Input("Upgrade", framing, headers("Upgrade", "websocket")),
    Input("Connection names a field", framing, headers("Connection", "X-A")),
    Input("another Host", header, headers("Host", "example.org")),
    Input("a head made by hand: CR LF in the path", url) { base, _ in
      var request = try ResourceRequest(url: base)
      request.head.path = "/a\r\nX: y"
      return request
    },
    Input("a head made by hand: user information", url) { base, port in
      var request = try ResourceRequest(url: base)
      request.head.authority = "user@127.0.0.1:\(port)"
      return request
    },
    Input("a head made by hand: ftp", "request/unsupported_scheme") { base, _ in
      var request = try ResourceRequest(url: base)
      request.head.scheme = "ftp"
      return request
    },
    Input("a body with CR LF in its media type", header) { base, _ in
      try ResourceRequest(method: .post, url: base, body: .raw("x", contentType: "text/plain\r\nX: y"))
    },
  ]

  @Test("An invalid request is refused before anything is sent", arguments: inputs)
  func refused(_ input: Input) async throws {
    let server = try LoopbackServer.http { _ in .text("fine") }
    let stack = try CurlNetworkStack(configuration: StackConfiguration().replayed)
    let base = server.baseURL, port = server.port
    let resource = RawHTTPResource(baseRequestMaking: BaseRequestMaking { try input.make(base, port) })
    let error = try await #require(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(resource) }
    #expect(error.words == input.expected)
    guard case .noRequest = error.reason else {
      Issue.record("\(error.reason) is not noRequest")
      return
    }
    #expect(error.attempts.allSatisfy { !$0.requestSent })
    #expect(stack.activeTransfers == 0)
    // The only connection belongs to the valid request, so none was opened before.
    _ = try await stack.fetch(.raw(ResourceRequest(url: base)))
    #expect(server.acceptedConnections == 1)
    #expect(server.requests.count == 1)
  }
}
