// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import PeerSupport
import TestSupport
import Testing

@Suite("nginx: HTTP/1.1", .peers(.nginx, .python), .timeLimit(.minutes(15)))
struct ExchangePeerTests {
  private func url(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.nginx.ports.plain)\(path)" }

  @Test("A second request reuses the connection of the first, and its facts show that")
  func keepAlive() async throws {
    let stack = try CurlNetworkStack.direct()
    let first = try await stack.send(.get, url("/connection"))
    let second = try await stack.send(.get, url("/connection"))
    let words = [first, second].map { $0.text.split(separator: " ") }
    #expect(words[0][0] == words[1][0])
    #expect(words.map { $0[1] } == ["1", "2"])
    #expect(words[1][2] == "HTTP/1.1")
    #expect(!first.response.facts.connectionReused)
    #expect(second.response.facts.connectionReused)
    #expect(first.response.facts.connectionID == second.response.facts.connectionID)
    #expect(second.response.facts.httpVersion == "1.1")
    #expect(second.response.facts.remoteAddress == "127.0.0.1")
    #expect(second.response.facts.remotePort == (try Peers.nginx.ports.plain))
  }

  @Test("A server that closes after each response gets a new connection")
  func close() async throws {
    let stack = try CurlNetworkStack.direct()
    _ = try await stack.send(.get, url("/close"))
    let next = try await stack.send(.get, url("/connection"))
    #expect(next.text.split(separator: " ")[1] == "1")
    #expect(!next.response.facts.connectionReused)
  }

  @Test("Bodies arrive byte for byte, whatever their size", arguments: [0, 1, 1024, 64 * 1024, 1024 * 1024])
  func bodies(size: Int) async throws {
    let name = try #require(NginxConfiguration.sizes.first { $0.bytes == size }?.name)
    let answer = try await CurlNetworkStack.direct().send(.get, url("/files/\(name)"))
    #expect(answer.value.count == size)
    #expect(sha256(answer.value) == sha256(pattern(size)))
    #expect(answer.response.facts.bytesReceived == Int64(size))
  }

  @Test("A collected body has a limit of 10 MiB; a raised limit, or a stream, accepts 11")
  func bodyLimit() async throws {
    let stack = try CurlNetworkStack.direct()
    let error = try await failure { try await stack.send(.get, url("/files/11m")) }
    #expect(error.words == "limit/body_too_large")
    let size = 11 * 1024 * 1024
    var options = RequestOptions()
    options.maximumBodyBytes = size
    let answer = try await stack.send(.get, url("/files/11m"), options: options)
    #expect(sha256(answer.value) == sha256(pattern(size)))
    options.maximumBodyBytes = size - 1
    let smaller = try await failure { try await stack.send(.get, url("/files/11m"), options: options) }
    #expect(smaller.words == "limit/body_too_large")

    let stream = try await stack.stream(.raw(ResourceRequest(url: url("/files/11m"))))
    let digest = try MessageHasher()
    var count = 0
    for try await chunk in stream.value {
      digest.update(chunk)
      count += chunk.count
    }
    #expect(count == size)
    #expect((try digest.digest().hexadecimal) == sha256(pattern(size)))
    #expect(stream.value.finalFacts?.bytesReceived == Int64(size))
  }

  @Test("gzip is requested and decoded; a request with its own Accept-Encoding gets the body undecoded")
  func gzip() async throws {
    let stack = try CurlNetworkStack.direct()
    let expanded = try await stack.send(.get, url("/text"))
    #expect(expanded.response.headerFields[.contentEncoding] == "gzip")
    #expect(expanded.value.count == 64 * 1024)
    #expect(expanded.text.hasPrefix("Ballast keeps a ship upright"))
    #expect(expanded.response.facts.bytesReceived < 64 * 1024)

    let raw = try await stack.send(.get, url("/text"), headers: ["Accept-Encoding": "gzip"])
    #expect(raw.value.prefix(2) == Data([0x1F, 0x8B]))

    let plain = try await CurlNetworkStack.direct { $0.decompresses = false }.send(.get, url("/text"))
    #expect(plain.response.headerFields[.contentEncoding] == nil)
    #expect(plain.value == expanded.value)
  }

  @Test("The limit counts bytes after decompression")
  func limitAfterDecompression() async throws {
    var options = RequestOptions()
    options.maximumBodyBytes = 64 * 1024
    let stack = try CurlNetworkStack.direct()
    #expect(try await stack.send(.get, url("/text"), options: options).value.count == 64 * 1024)
    options.maximumBodyBytes = 64 * 1024 - 1
    let error = try await failure { try await stack.send(.get, url("/text"), options: options) }
    #expect(error.words == "limit/body_too_large")
  }

  @Test("Every 2xx is a success; 204 and 205 have no body", arguments: 200...206)
  func successes(status: Int) async throws {
    let answer = try await CurlNetworkStack.direct().send(.get, url("/status/\(status)"))
    #expect(answer.response.status.code == status)
    #expect(answer.value.isEmpty == [204, 205].contains(status))
  }

  @Test("Every 4xx and 5xx, and an unrequested 304, is a typed failure with status and body")
  func failures() async throws {
    let stack = try CurlNetworkStack.direct()
    for status in NginxConfiguration.statuses where status == 304 || status >= 400 {
      let error = try await failure { try await stack.send(.get, url("/status/\(status)")) }
      #expect(error.words == "http/unexpected_status", "\(status)")
      #expect(error.statusCode?.code == status)
      #expect(error.body.map { String(decoding: $0, as: UTF8.self) } ?? "" == (status == 304 ? "" : "status \(status)"))
      #expect(error.attempts.map(\.outcome) == [.status])
      #expect(error.attempts.map(\.requestSent) == [true])
    }
  }

  @Test("HEAD returns headers and no body, and the connection stays usable")
  func head() async throws {
    let stack = try CurlNetworkStack.direct()
    let head = try await stack.send(.head, url("/files/1k"))
    #expect(head.value.isEmpty)
    #expect(head.response.headerFields[.contentLength] == "1024")
    let next = try await stack.send(.get, url("/connection"))
    #expect(next.text.split(separator: " ")[1] == "2")
  }

  @Test("Ranges and validators pass through")
  func ranges() async throws {
    let stack = try CurlNetworkStack.direct()
    let part = try await stack.send(.get, url("/files/1k"), headers: ["Range": "bytes=10-19"])
    #expect(part.response.status.code == 206)
    #expect(part.value == pattern(20).dropFirst(10))
    let tag = try #require(part.response.headerFields[.eTag])
    let same = try await stack.send(.get, url("/files/1k"), headers: ["If-None-Match": tag])
    #expect(same.response.status.code == 304 && same.value.isEmpty)
  }

  @Test("The server receives exactly the requested method, target and fields, in order")
  func onTheWire() async throws {
    struct Echo: Decodable {
      var method: String
      var target: String
      var headers: [[String]]
    }
    let port = try Peers.python.port
    let answer = try await CurlNetworkStack.direct { $0.decompresses = false }.send(
      .delete, "http://127.0.0.1:\(port)/echo/%41%2F/a%20b?q=1+2&%C3%A9&[]=;",
      headers: ["X-First": "1", "Accept": "text/x", "X-Empty": "", "X-Utf8": "é"])
    let echo = try JSONDecoder().decode(Echo.self, from: answer.value)
    #expect(echo.method == "DELETE")
    // Brackets are not allowed in a query (RFC 3986 §3.4) and are encoded; the rest stays unchanged.
    #expect(echo.target == "/echo/%41%2F/a%20b?q=1+2&%C3%A9&%5B%5D=;")
    #expect(
      echo.headers.map { $0[0] } == ["Host", "User-Agent", "X-First", "Accept", "X-Empty", "X-Utf8"])
    #expect(echo.headers[0][1] == "127.0.0.1:\(port)")
    #expect(echo.headers[1][1].hasPrefix("Lastro/"))
    #expect(echo.headers[4][1] == "")
  }

  @Test("A chunked body of a Python server is reassembled")
  func chunked() async throws {
    let answer = try await CurlNetworkStack.direct().send(.get, "http://127.0.0.1:\(try Peers.python.port)/drip/500")
    #expect(answer.text == String(repeating: "drip\n", count: 500))
    #expect(answer.response.headerFields[.transferEncoding] == "chunked")
  }

  @Test("Timings are in order, and time in the queue is reported")
  func timings() async throws {
    let facts = try await CurlNetworkStack.direct().send(.get, url("/files/64k")).response.facts
    let connect = try #require(facts.timings.connect)
    let first = try #require(facts.timings.firstByte)
    #expect(connect <= first)
    #expect(first <= facts.timings.total)
    #expect(facts.timings.tls == nil)
    #expect(facts.timings.queued >= .zero)
    #expect(facts.bytesSent > 0)
    #expect(facts.resends == 0)
  }
}
