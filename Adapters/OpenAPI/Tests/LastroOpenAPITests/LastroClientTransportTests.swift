// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import OpenAPIRuntime
import Testing

@testable import LastroOpenAPI

@Suite("Below swift-openapi-generator", .timeLimit(.minutes(15)))
struct LastroClientTransportTests {
  private struct Texts: AsyncSequence, Sendable {
    var texts: [String]

    struct AsyncIterator: AsyncIteratorProtocol {
      var rest: ArraySlice<String>
      mutating func next() async -> ArraySlice<UInt8>? { rest.popFirst().map { ArraySlice($0.utf8) } }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: texts[...]) }
  }

  private func send(
    _ transport: ScriptedTransport, path: String? = "/pets?name=a%20b%2Fc",
    base: String = "https://api.example.org/v1/",
    method: HTTPRequest.Method = .get, body: HTTPBody? = nil
  ) async throws -> (HTTPResponse, HTTPBody?) {
    let stack = TransportNetworkStack(
      transport: transport, configuration: StackConfiguration(interceptors: [.retry(.maxRetries(1))]))
    let request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path, headerFields: [.accept: "a/b"])
    return try await LastroClientTransport(stack).send(
      request, body: body, baseURL: try #require(URL(string: base)), operationID: "listPets")
  }

  @Test("the URL is base and path as they are written, and the operation is named")
  func request() async throws {
    let transport = ScriptedTransport([.respond(status: .ok, body: "{}")])
    _ = try await send(transport)
    let head = try #require(transport.requests.first?.head)
    #expect(head.authority == "api.example.org" && head.path == "/v1/pets?name=a%20b%2Fc")
    #expect(head.headerFields[.accept] == "a/b")
    await #expect(throws: TransportError.self) { try await send(ScriptedTransport(), base: "https://a.test/?b=c") }
  }

  @Test("every status is a value, with its body, and retries are the stack's", arguments: [200, 404, 503])
  func statuses(status: Int) async throws {
    let step = ScriptedTransport.Step.respond(
      status: .init(code: status), headers: [.contentLength: "3"], body: "abc")
    let transport = ScriptedTransport(repeatingLast: step)
    let (response, body) = try await send(transport)
    #expect(response.status.code == status && body?.length == .known(3))
    var read = ""
    for try await slice in try #require(body) { read += String(decoding: slice, as: UTF8.self) }
    #expect(read == "abc" && transport.requests.count == (status == 503 ? 2 : 1))
  }

  @Test("where no body may follow there is none, and a coded one has no length")
  func bodies() async throws {
    #expect(try await send(ScriptedTransport([.respond(status: .noContent)])).1 == nil)
    #expect(try await send(ScriptedTransport([.respond(status: .ok)]), method: .head).1 == nil)
    let coded = ScriptedTransport([
      .respond(status: .ok, headers: [.contentLength: "3", .contentEncoding: "gzip"], body: "abc")
    ])
    #expect(try await send(coded).1?.length == .unknown)
  }

  @Test("a request's body has its length, and is sent again if it can be", arguments: [true, false])
  func upload(isReplayable: Bool) async throws {
    let transport = ScriptedTransport([.respond(status: .created)])
    let body = HTTPBody(
      Texts(texts: ["ab", "c"]), length: .known(3), iterationBehavior: isReplayable ? .multiple : .single)
    _ = try await send(transport, method: .post, body: body)
    let sent = try #require(transport.requests.first?.body)
    #expect(sent.length == 3 && sent.isReplayable == isReplayable)
    guard case .stream(_, _, let open) = sent.source else {
      Issue.record("the body is no stream")
      return
    }
    let next = open()
    var read = ""
    while let chunk = try await next() { read += String(decoding: chunk, as: UTF8.self) }
    #expect(read == "abc")
  }
}
