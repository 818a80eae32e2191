// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import Testing

/// Header fields that must be sent in a form other than the one in which they were set.
@Suite("Request fields on the wire", .timeLimit(.minutes(15)))
struct RequestFieldTests {
  private func fetch(
    _ server: LoopbackServer, _ options: RequestOptions = RequestOptions(),
    configuration: StackConfiguration = StackConfiguration(), setting set: (inout HTTPFields) -> Void
  ) async throws -> Data {
    let stack = try CurlNetworkStack(configuration: configuration)
    var request = try ResourceRequest(url: server.baseURL + "/", options: options)
    set(&request.head.headerFields)
    return try await stack.fetch(.raw(request)).value
  }

  @Test("Cookies are sent in one field (RFC 6265 §5.4)", arguments: [false, true])
  func cookies(overHTTP2: Bool) async throws {
    let lab = try HTTP2Servers()
    let respond: @Sendable (LoopbackRequest) -> LoopbackResponse = { _ in .text("fine") }
    let server = overHTTP2 ? try lab.server(respond: respond) : try .http(respond: respond)
    _ = try await fetch(server, lab.options()) {
      $0[.accept] = "a/b"
      $0[.cookie] = "a=1; b=2"
      $0[.from] = "x@y.example"
      $0.append(HTTPField(name: .cookie, value: "c=3"))
    }
    let head = try #require(server.requests.first?.head)
    #expect(head.values("Cookie") == ["a=1; b=2; c=3"])
    #expect(head["Accept"] == "a/b" && head["From"] == "x@y.example")
  }

  @Test("A signer sees the single Cookie field that is sent")
  func signed() async throws {
    struct Signer: RequestSigner {
      var origins: [Origin]
      func sign(
        _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
      ) async throws -> ResourceRequest {
        var request = request
        request.head.headerFields[.from] = request.head.headerFields[values: .cookie].joined(separator: "|")
        return request
      }
    }
    let server = try LoopbackServer.http { _ in .text("fine") }
    var configuration = StackConfiguration()
    configuration.signers = [Signer(origins: [try Origin(server.baseURL)])]
    _ = try await fetch(server, configuration: configuration) { $0[.cookie] = "a=1; b=2" }
    #expect(server.requests.first?.head.values("Cookie") == ["a=1; b=2"])
    #expect(server.requests.first?.head["From"] == "a=1; b=2")
  }

  @Test("A range request is sent without Accept-Encoding, so it applies to the representation itself")
  func range() async throws {
    let server = try LoopbackServer.http { _ in
      LoopbackResponse(status: 206, headers: ["Content-Encoding": "gzip"], body: [1, 2, 3])
    }
    #expect(try await fetch(server) { $0[.range] = "bytes=0-2" } == Data([1, 2, 3]))
    #expect(
      try await fetch(server) {
        $0[.range] = "bytes=0-2"
        $0[.acceptEncoding] = "gzip;q=0.5"
      } == Data([1, 2, 3]))
    #expect(server.requests.map { $0.head["Accept-Encoding"] } == [nil, "gzip;q=0.5"])
    #expect(server.requests.map { $0.head["Range"] } == ["bytes=0-2", "bytes=0-2"])
  }
}
