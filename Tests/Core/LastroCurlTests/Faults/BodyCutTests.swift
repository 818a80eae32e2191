// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// Incomplete bodies of error responses. The status is reported, and a caller can find out that the body was cut.
@Suite("Faults: truncated error bodies", .overEachLink, .timeLimit(.minutes(15)))
struct BodyCutTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var name: String
    var answer: String
    var body: String
    /// The expected reason for the cut; `nil` if the body is complete.
    var cut: String?
    var testDescription: String { name }
  }

  private static let gone = "HTTP/1.1 404 N\r\n"

  static let rows = [
    Row(name: "whole", answer: gone + "Content-Length: 5\r\n\r\nwhole", body: "whole"),
    Row(name: "whole, without a length", answer: gone + "\r\nwhole", body: "whole"),
    Row(name: "as long as is kept", answer: gone + "Content-Length: 8\r\n\r\n12345678", body: "12345678"),
    Row(name: "empty", answer: gone + "Content-Length: 0\r\n\r\n", body: ""),
    Row(
      name: "by its length", answer: gone + "Content-Length: 219\r\n\r\nshort", body: "short",
      cut: "response/truncated_body"),
    Row(
      name: "within a chunk", answer: gone + "Transfer-Encoding: chunked\r\n\r\n8\r\nshort", body: "short",
      cut: "response/truncated_body"),
    Row(
      name: "a redirect that is not followed",
      answer: "HTTP/1.1 302 N\r\nLocation: /x\r\nContent-Length: 8\r\n\r\nshort", body: "short",
      cut: "response/truncated_body"),
    Row(
      name: "longer than is kept", answer: gone + "Content-Length: 9\r\n\r\n123456789", body: "12345678",
      cut: "limit/body_too_large"),
    Row(
      name: "an expectation that failed", answer: "HTTP/1.1 417 N\r\nContent-Length: 5\r\n\r\nshort",
      body: "short", cut: nil),
  ]

  private func failure(_ url: String, isStream: Bool) async throws -> HTTPFetchError<any Error> {
    var configuration = StackConfiguration()
    configuration.maximumErrorBodyBytes = 8
    configuration.redirects = .none
    let stack = TransportNetworkStack(transport: try LinkKind.current.engine(), configuration: configuration.replayed)
    let resource = RawHTTPResource.raw(try ResourceRequest(method: .put, url: url, body: .raw("x")))
    return try await #require(throws: HTTPFetchError<any Error>.self) {
      if isStream { _ = try await stack.stream(resource) } else { _ = try await stack.fetch(resource) }
    }
  }

  @Test("The error, the response and the ledger report that the body was cut", arguments: rows, [false, true])
  func told(_ row: Row, isStream: Bool) async throws {
    let server = try LoopbackServer { connection in
      if try connection.readRequest() != nil { try connection.write(row.answer) }
    }
    let error = try await failure(server.baseURL, isStream: isStream)
    #expect(error.words == "http/unexpected_status" && error.body == Data(row.body.utf8))
    #expect(error.bodyCut.map { "\($0.stage.rawValue)/\($0.code)" } == row.cut)
    #expect(error.response?.facts.bodyCut == error.bodyCut)
    #expect(error.attempts.last?.facts?.bodyCut == error.bodyCut)
    #expect(error.description.contains("incomplete body") == (row.cut != nil))
    #expect("\(error.ledger)".contains("body cut") == (row.cut != nil))
    let json = error.ledger.json()
    if let cut = row.cut?.split(separator: "/").last {
      #expect(json.contains(#""body_cut":{"code":"\#(cut)""#))
    } else {
      #expect(json.contains(#""body_cut":null"#))
    }
  }

  @Test("Over TLS, an error body that ends without close_notify is reported as cut")
  func truncatedByTLS() async throws {
    let lab = try HTTP2Servers()
    let server = try LoopbackServer(tls: LoopbackTLS(lab.authority.issue(hosts: ["localhost"]))) { connection in
      guard try connection.readHead() != nil else { return }
      try connection.write(Self.gone + "\r\nshort")
      connection.closeWithoutNotify()
    }
    let stack = TransportNetworkStack(transport: lab.engine, configuration: StackConfiguration().replayed)
    let error = try await #require(throws: HTTPFetchError<any Error>.self) {
      try await stack.fetch(.raw(ResourceRequest(url: server.baseURL, options: lab.options())))
    }
    #expect(error.body == Data("short".utf8) && error.bodyCut?.code == .truncatedBody)
  }

  @Test("Over HTTP/2, an error body that is reset is reported as cut")
  func http2() async throws {
    let lab = try HTTP2Servers()
    let server = try lab.server { request in
      let fault = LoopbackResponse.Fault.http2(.resetStream(.internalError), at: .body(after: 5))
      return LoopbackResponse(status: 503, body: Array("shortened".utf8), fault: request.path == "/cut" ? fault : nil)
    }
    let stack = TransportNetworkStack(transport: lab.engine, configuration: StackConfiguration().replayed)
    let cases: [(String, String, FailureCode?)] = [("/cut", "short", .http2Failure), ("/", "shortened", nil)]
    for (path, body, cut) in cases {
      let error = try await #require(throws: HTTPFetchError<any Error>.self) {
        try await stack.fetch(.raw(ResourceRequest(url: server.baseURL + path, options: lab.options())))
      }
      #expect(error.body == Data(body.utf8) && error.bodyCut?.code == cut, "\(path)")
    }
  }
}
