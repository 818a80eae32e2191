// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import PeerSupport
import TestSupport
import Testing

/// The Python server's report of the request that it received.
struct PeerEcho: Decodable {
  var method: String
  var headers: [[String]]
  var body_sha256: String

  func values(_ name: String) -> [String] { headers.filter { $0[0].lowercased() == name }.map { $0[1] } }
}

@Suite("nginx and Python: uploads", .peers(.nginx, .python), .timeLimit(.minutes(15)))
struct UploadPeerTests {
  private static let size = 3 * 1024 * 1024 + 17

  private func echo(
    _ method: HTTPRequest.Method, _ body: RequestBody, headers: RawHeaders = [:]
  ) async throws -> PeerEcho {
    let url = "http://127.0.0.1:\(try Peers.python.port)/echo"
    let answer = try await CurlNetworkStack.direct().send(method, url, headers: headers, body: body)
    return try JSONDecoder().decode(PeerEcho.self, from: answer.value)
  }

  private func chunks(_ count: Int) -> AsyncStream<Data> {
    AsyncStream { continuation in
      let whole = pattern(count)
      for start in stride(from: 0, to: count, by: 50_000) {
        continuation.yield(whole[start..<min(count, start + 50_000)])
      }
      continuation.finish()
    }
  }

  @Test("Bytes arrive unchanged", arguments: [1, 1024, size])
  func bytes(size: Int) async throws {
    for method in [HTTPRequest.Method.post, .put, .patch] {
      let echo = try await echo(method, .raw(pattern(size), contentType: "application/x-test"))
      #expect(echo.method == method.rawValue)
      #expect(echo.body_sha256 == sha256(pattern(size)))
      #expect(echo.values("content-length") == ["\(size)"])
      #expect(echo.values("content-type") == ["application/x-test"])
      // libcurl adds `Expect` to bodies of more than 1 MiB.
      #expect(echo.values("expect") == (size > 1024 * 1024 ? ["100-continue"] : []))
      #expect(echo.values("transfer-encoding").isEmpty)
    }
  }

  @Test("Without a body, or with an empty one, POST sends Content-Length: 0; GET without a body sends no length")
  func none() async throws {
    #expect(try await echo(.post, .empty).values("content-length") == ["0"])
    #expect(try await echo(.get, .empty).values("content-length").isEmpty)
    #expect(try await echo(.get, .empty).values("content-type").isEmpty)
    #expect(try await echo(.post, .raw(Data())).values("content-length") == ["0"])
  }

  @Test("A body without a type is sent without Content-Type")
  func noType() async throws {
    #expect(try await echo(.post, .raw(Data([1]))).values("content-type").isEmpty)
  }

  @Test("A file arrives unchanged, with its length")
  func file() async throws {
    let directory = try PeerDirectory()
    let path = try directory.write(pattern(Self.size), to: "body")
    let echo = try await echo(.put, .file(path: path))
    #expect(echo.body_sha256 == sha256(pattern(Self.size)))
    #expect(echo.values("content-length") == ["\(Self.size)"])
    let empty = try await self.echo(.put, .file(path: try directory.write(Data(), to: "empty")))
    #expect(empty.values("content-length") == ["0"])
  }

  @Test("An async sequence arrives unchanged: chunked without a length, plain with one")
  func sequence() async throws {
    let chunked = try await echo(.post, .stream(chunks(Self.size)))
    #expect(chunked.body_sha256 == sha256(pattern(Self.size)))
    #expect(chunked.values("transfer-encoding") == ["chunked"])
    #expect(chunked.values("content-length").isEmpty)
    let plain = try await echo(.post, .stream(chunks(Self.size), length: Int64(Self.size)))
    #expect(plain.body_sha256 == sha256(pattern(Self.size)))
    #expect(plain.values("transfer-encoding").isEmpty)
    #expect(plain.values("content-length") == ["\(Self.size)"])
    let nothing = try await echo(.post, .stream(chunks(0)))
    #expect(nothing.body_sha256 == sha256(Data()))
  }

  @Test("A sequence shorter than announced fails the request, so the server does not wait")
  func shortSequence() async throws {
    let url = "http://127.0.0.1:\(try Peers.python.port)/echo"
    let stack = try CurlNetworkStack.direct()
    let error = try await failure { [body = RequestBody.stream(chunks(1000), length: 2000)] in
      try await stack.send(.post, url, body: body)
    }
    #expect(error.words == "request/invalid_body")
  }

  @Test("A sequence that throws fails the request")
  func throwingSequence() async throws {
    struct Broken: Error {}
    let body = RequestBody.stream(AsyncThrowingStream<Data, any Error> { throw Broken() })
    let url = "http://127.0.0.1:\(try Peers.python.port)/echo"
    let stack = try CurlNetworkStack.direct()
    let error = try await failure { try await stack.send(.post, url, body: body) }
    #expect(error.words == "request/invalid_body")
  }

  @Test("nginx stores a chunked upload byte for byte, over HTTP/1.1 and HTTP/2")
  func nginxStores() async throws {
    let nginx = try Peers.nginx
    let text = String(repeating: "ballast ", count: 100_000)
    let stack = try CurlNetworkStack.direct { $0.connection.tls.roots = .file(nginx.certificates.authority) }
    for (name, base) in [
      ("plain", "http://127.0.0.1:\(nginx.ports.plain)"), ("tls", "https://localhost:\(nginx.ports.tls)"),
    ] {
      let stream = AsyncStream<Data> { continuation in
        for _ in 0..<100 { continuation.yield(Data(String(repeating: "ballast ", count: 1000).utf8)) }
        continuation.finish()
      }
      let answer = try await stack.send(.put, "\(base)/upload/\(name)", body: .stream(stream))
      #expect(answer.response.status.code == 201)
      #expect(nginx.uploaded(name) == text)
    }
  }

  @Test("A final response before the body is sent is returned")
  func earlyAnswer() async throws {
    let url = "http://127.0.0.1:\(try Peers.nginx.ports.plain)/early"
    let stack = try CurlNetworkStack.direct()
    let error = try await failure { try await stack.send(.post, url, body: .raw(pattern(2 * 1024 * 1024))) }
    #expect(error.statusCode?.code == 413)
  }

  @Test("A POST reaches the server once")
  func once() async throws {
    let url = "http://127.0.0.1:\(try Peers.python.port)/count/once"
    let answer = try await CurlNetworkStack.direct().send(.post, url, body: .raw("x"))
    #expect(answer.text.contains(#""count": 1"#))
  }
}
