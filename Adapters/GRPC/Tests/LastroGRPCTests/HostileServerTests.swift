// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import Lastro
import LastroCurl
import LastroGRPC
import LastroTesting
import Testing

@Suite("Calls of servers that break the protocol", .timeLimit(.minutes(15)))
struct HostileServerTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let code: RPCError.Code
    var text = ""
    let response: LoopbackResponse
  }

  private static func answer(
    _ body: [UInt8] = [0, 0, 0, 0, 1, 9], trailers: KeyValuePairs<String, String> = ["grpc-status": "0"],
    status: Int = 200, type: String = "application/grpc"
  ) -> LoopbackResponse {
    var response = LoopbackResponse(status: status, headers: ["content-type": type], body: body)
    for (name, value) in trailers { response = response.addingTrailer(name, value) }
    return response
  }

  static let cases: [Case] = [
    Case(testDescription: "prefix", code: .internalError, text: "begins with 7", response: answer([7, 0, 0, 0, 1, 9])),
    Case(
      testDescription: "compressed", code: .internalError, text: "is compressed", response: answer([1, 0, 0, 0, 1, 9])),
    Case(
      testDescription: "an encoding that was not offered", code: .internalError, text: "\"gzip\"",
      response: answer().adding("grpc-encoding", "gzip")),
    Case(
      testDescription: "too large", code: .resourceExhausted, text: "above the limit of 4194304",
      response: answer([0, 0, 0x40, 0, 1, 9])),
    Case(
      testDescription: "far too large", code: .resourceExhausted, text: "4294967295 bytes",
      response: answer([0, 255, 255, 255, 255, 9])),
    Case(testDescription: "cut prefix", code: .internalError, text: "within a message", response: answer([0, 0, 0])),
    Case(
      testDescription: "cut message", code: .internalError, text: "within a message",
      response: answer([0, 0, 0, 0, 9, 1])),
    Case(
      testDescription: "a failure within a message", code: .aborted, text: "gone",
      response: answer([0, 0, 0, 0, 9, 1], trailers: ["grpc-status": "10", "grpc-message": "gone"])),
    Case(
      testDescription: "no status", code: .unknown, text: "without a grpc-status",
      response: answer(trailers: ["x-other": "1"])),
    Case(
      testDescription: "no trailers", code: .unknown, text: "without a grpc-status", response: answer(trailers: [:])),
    Case(
      testDescription: "a status that is no number", code: .unknown, text: "\"none\"",
      response: answer(trailers: ["grpc-status": "none"])),
    Case(
      testDescription: "a status out of range", code: .unknown, text: "\"17\"",
      response: answer(trailers: ["grpc-status": "17"])),
    Case(
      testDescription: "a text that is not encoded well", code: .dataLoss, text: "50 %zz %",
      response: answer(trailers: ["grpc-status": "15", "grpc-message": "50 %zz %25%"])),
    Case(
      testDescription: "no gRPC", code: .unknown, text: "\"text/html\"", response: answer(type: "text/html")),
    Case(
      testDescription: "gRPC-Web", code: .unknown, text: "\"application/grpc-web+proto\"",
      response: answer(type: "application/grpc-web+proto")),
    Case(testDescription: "400", code: .internalError, response: LoopbackResponse(status: 400)),
    Case(testDescription: "401", code: .unauthenticated, response: LoopbackResponse(status: 401)),
    Case(testDescription: "403", code: .permissionDenied, response: LoopbackResponse(status: 403)),
    Case(testDescription: "404", code: .unimplemented, response: LoopbackResponse(status: 404)),
    Case(testDescription: "429", code: .unavailable, response: LoopbackResponse(status: 429)),
    Case(testDescription: "503", code: .unavailable, response: LoopbackResponse(status: 503)),
    Case(testDescription: "500", code: .unknown, response: LoopbackResponse(status: 500)),
    Case(
      testDescription: "a redirect", code: .unknown, response: LoopbackResponse(status: 302, headers: ["location": "/"])
    ),
    Case(
      testDescription: "a status of gRPC in place of one of HTTP", code: .alreadyExists, text: "there",
      response: LoopbackResponse(status: 503, headers: ["grpc-status": "6", "grpc-message": "there"])),
    Case(testDescription: "a refused stream", code: .unavailable, response: .fault(.refusedStream)),
    Case(testDescription: "GOAWAY", code: .unavailable, response: .fault(.goAway)),
    Case(testDescription: "a reset connection", code: .unavailable, response: .fault(.reset)),
    Case(
      testDescription: "a body that is cut off", code: .unavailable,
      response: LoopbackResponse(
        headers: ["content-type": "application/grpc"], body: [0, 0, 0, 0, 2, 1, 2], fault: .truncateBody(after: 6))),
  ]

  @Test("Each fault fails its own call, with a code, a text and the ledger", arguments: cases)
  func faults(fault: Case) async throws {
    let server = try LoopbackServer.http2 { request in
      request.path.hasSuffix("/Good") ? Self.answer() : fault.response
    }
    try await withEcho(try transport(server.baseURL, try stack())) { client in
      for type in [MethodDescriptor.RPCType.unary, nil] {
        let error = await #expect(throws: RPCError.self) { try await client.unary([1], type: type).message }
        #expect(error?.code == fault.code, "\(String(describing: error))")
        #expect(fault.text.isEmpty || error?.message.contains(fault.text) == true, "\(String(describing: error))")
        #expect(error?.ledger?.attempts.count == 1)
      }
      let answer = try await client.unary([1], to: "Good").message
      #expect(answer == [9])
    }
  }

  @Test(
    "A server without HTTP/2 is named as the reason, with a code that is not repeated",
    arguments: [nil, "0", "14"] as [String?])
  func http1(statusInHead: String?) async throws {
    let server = try LoopbackServer.http { _ in
      statusInHead.map { Self.answer([], trailers: [:]).adding("grpc-status", $0) } ?? Self.answer()
    }
    let stack = try stack { $0.connection.httpVersion = .http1 }
    try await withEcho(try transport(server.baseURL, stack)) { client in
      let error = await #expect(throws: RPCError.self) { try await client.unary([1]).message }
      #expect(error?.code == .failedPrecondition && error?.message.contains("HTTP/1.1") == true)
    }
  }

  @Test("A base URL that no method can follow is refused", arguments: ["", "api.test", "http://a.test/?b", "ftp://a"])
  func baseURL(url: String) async throws {
    let stack = try stack()
    #expect(throws: TransportError.self) { try transport(url, stack) }
  }

  @Test("Metadata that cannot be sent fails the call before anything is sent")
  func metadata() async throws {
    let server = try LoopbackServer.http2 { _ in Self.answer() }
    try await withEcho(try transport(server.baseURL, try stack())) { client in
      for metadata: Metadata in [["x-a": "b\r\nc"], ["x a": "b"], [":path": "/"], ["transfer-encoding": "chunked"]] {
        let error = await #expect(throws: RPCError.self) { try await client.unary([1], metadata: metadata).message }
        #expect(error?.code == .internalError)
      }
    }
    #expect(server.requests.isEmpty)
  }

  @Test("The request has the fields of gRPC, and its messages have prefixes")
  func request() async throws {
    let server = try LoopbackServer.http2 { _ in Self.answer() }
    var options = CallOptions.defaults
    options.timeout = .seconds(60)
    let call = options
    try await withEcho(try transport("\(server.baseURL)/base/", try stack())) { client in
      _ = try await client.unary([1, 2], options: call).message
    }
    let request = try #require(server.requests.first)
    #expect(request.method == "POST" && request.path == "/base/lastro.Echo/Unary")
    #expect(request.headers["te"] == "trailers" && request.headers["content-type"] == "application/grpc")
    #expect(request.headers["grpc-timeout"] != nil)
    #expect(request.body == [0, 0, 0, 0, 2, 1, 2])
  }
}
