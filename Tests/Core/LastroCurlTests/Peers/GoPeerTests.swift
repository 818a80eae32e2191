// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import PeerSupport
import TestSupport
import Testing

/// Go's net/http server. Go up to 1.19 grants credit for each `Read` of a handler; later versions combine some of it.
@Suite("Go's net/http: HTTP/2", .peers(.go), .timeLimit(.minutes(15)))
struct GoPeerTests {
  private func stack() throws -> CurlNetworkStack {
    let authority = try Peers.go.certificates.authority
    return try .direct {
      $0.connection.tls.roots = .file(authority)
    }
  }

  private func url(_ path: String) throws -> String { "https://localhost:\(try Peers.go.port)\(path)" }

  // Go closes a connection on which 10,000 of its own frames are queued, and a busy machine may not read them in time.
  // So each request causes fewer frames, two for each read, and all requests use one connection.

  @Test("A handler that decodes JSON Lines one by one receives 20 MB over one connection")
  func jsonLines() async throws {
    let line = Data("{\"id\": 12345678, \"text\": \"\(String(repeating: "x", count: 160))\"}\n".utf8)
    let count = 2_000_000 / line.count + 1
    var body = Data(capacity: count * line.count)
    for _ in 0..<count { body += line }
    let stack = try stack()
    for number in 0..<10 {
      let answer = try await stack.send(.post, url("/json"), body: .raw(body))
      #expect(answer.text == "\(count)")
      #expect(answer.response.facts.httpVersion == "2")
      #expect(answer.response.facts.connectionReused == (number > 0))
    }
  }

  @Test("Uploads in thousands of small reads succeed over one connection", arguments: [(100, 400_000), (1, 4_000)])
  func smallReads(size: Int, count: Int) async throws {
    let stack = try stack()
    for number in 0..<10 {
      let answer = try await stack.send(.post, url("/reads/\(size)"), body: .raw(Data(count: count)))
      #expect(answer.text == "\(count)")
      #expect(answer.response.facts.connectionReused == (number > 0))
    }
  }

  @Test("2,000 uploads are refused early while a response on the same connection continues")
  func earlyResponses() async throws {
    let stack = try stack()
    let held = Task { [url = try url("/held")] in try await stack.send(.get, url) }
    let (limited, body) = (try url("/limited"), Data(count: 100_000))
    try await withThrowingTaskGroup(of: Int?.self) { group in
      for index in 0..<2_000 {
        if index >= 20 { #expect(try await group.next() == 429) }
        group.addTask {
          do throws(RawFailure) {
            return try await stack.send(.post, limited, body: .raw(body)).response.status.code
          } catch {
            return error.statusCode?.code
          }
        }
      }
      for try await status in group { #expect(status == 429) }
    }
    _ = try await stack.send(.post, url("/release"))
    let answer = try await held.value
    #expect(answer.text == "begun done")
    #expect(answer.response.facts.httpVersion == "2")
  }
}
