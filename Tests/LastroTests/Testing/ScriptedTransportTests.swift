// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroTesting
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

@Suite("Scripted transport")
struct ScriptedTransportTests {
  private func request(_ path: String, limit: Int = 100) -> TransferRequest {
    TransferRequest(
      head: HTTPRequest(method: .get, scheme: "https", authority: "api.example", path: path),
      delivery: .collected(maximumBytes: limit))
  }

  @Test("steps are taken in order, requests recorded, and one too many is named")
  func script() async throws {
    let failure = TransportError(stage: .connect, code: .connectFailed, message: "no")
    let transport = ScriptedTransport([
      .respond(status: 503, headers: [.retryAfter: "1"]), .fail(failure), .respond(status: 200, body: "done"),
    ])
    let first = try await transport.execute(request("/1"))
    #expect(first.head.status == 503)
    #expect(first.head.headerFields[.retryAfter] == "1")
    let error = await #expect(throws: TransportError.self) { try await transport.execute(request("/2")) }
    #expect(error?.code == .connectFailed)
    #expect(transport.remainingSteps == 1)
    let last = try await transport.execute(request("/3"))
    #expect(try await last.body.collect(upTo: 10) == Data("done".utf8))
    #expect(transport.remainingSteps == 0)
    let beyond = await #expect(throws: TransportError.self) { try await transport.execute(request("/4?x=y")) }
    #expect(beyond?.stage == .request)
    #expect(beyond?.code == .scriptExhausted)
    #expect(beyond?.message.contains("GET https://api.example/4?x=y") == true)
    #expect(transport.requests.map(\.head.path) == ["/1", "/2", "/3", "/4?x=y"])
    #expect(transport.runningRequests == 0)
  }

  @Test("a handler answers what the script does not")
  func handler() async throws {
    let handler: ScriptedTransport.Handler = { request in
      TransferResponse(head: HTTPResponse(status: 200), body: ResponseBody(Data((request.head.path ?? "").utf8)))
    }
    let transport = ScriptedTransport([.respond(status: 500)], handler: handler)
    #expect(try await transport.execute(request("/a")).head.status == 500)
    #expect(try await transport.execute(request("/b")).body.bytes == Data("/b".utf8))
    transport.append(.perform(handler))
    #expect(try await transport.execute(request("/c")).body.bytes == Data("/c".utf8))
  }

  @Test("a hang ends with the cancelled error")
  func hang() async throws {
    let transport = ScriptedTransport([.hang, .respond(status: 200)])
    let task = Task { try await transport.execute(request("/")) }
    while transport.runningRequests == 0 { await Task.yield() }
    task.cancel()
    let error = await #expect(throws: TransportError.self) { try await task.value }
    #expect(error?.code == .cancelled)
    #expect(error?.requestSent == true)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await transport.execute(request("/"))
    }
    let early = await #expect(throws: TransportError.self) { try await cancelled.value }
    #expect(early?.requestSent == false)
  }

  @Test("the limit of a body holds")
  func limit() async throws {
    let transport = ScriptedTransport([.respond(status: 200, body: "12345"), .respond(status: 200, body: "1234")])
    let error = await #expect(throws: TransportError.self) { try await transport.execute(request("/", limit: 4)) }
    #expect(error?.code == .bodyTooLarge)
    #expect(try await transport.execute(request("/", limit: 4)).body.bytes?.count == 4)
  }
}
