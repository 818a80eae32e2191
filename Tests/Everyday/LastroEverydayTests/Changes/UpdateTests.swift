// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Conditional writes", .timeLimit(.minutes(15)))
struct UpdateTests {
  private struct Counter: Codable, Sendable, Equatable { var count: Int }

  private static let url = "https://api.example.org/counter"

  /// A server with one resource, whose tag changes with each write.
  private final class Server: Sendable {
    struct State {
      var count = 0
      var version = 1
      var writes = 0
      /// The number of writes before which somebody else changes the resource.
      var rivals = 0
      /// Whether the response to the next write that is applied is lost.
      var losesResponse = false
    }

    let state: Lock<State>

    init(_ state: State = State()) { self.state = Lock(state) }

    func answer(_ request: TransferRequest) throws(TransportError) -> TransferResponse {
      let condition = request.head.headerFields[.ifMatch]
      return try state.withLock { (state) throws(TransportError) in
        guard request.head.method == .put else {
          return TransferResponse.answer(
            200, fields: [.eTag: "\"\(state.version)\""], body: #"{"count": \#(state.count)}"#)
        }
        if state.rivals > 0 {
          state.rivals -= 1
          state.count += 100
          state.version += 1
        }
        guard condition == "\"\(state.version)\"" else { return .answer(412) }
        state.count += 1
        state.version += 1
        state.writes += 1
        if state.losesResponse {
          state.losesResponse = false
          throw TransportError(
            stage: .response, code: .connectionLost, message: "the connection was lost", requestSent: true)
        }
        return .answer(200, fields: [.eTag: "\"\(state.version)\""], body: #"{"count": \#(state.count)}"#)
      }
    }

    func stack(_ interceptors: [any HTTPResourceInterceptor] = []) -> TransportNetworkStack {
      var configuration = StackConfiguration()
      configuration.interceptors = interceptors
      configuration.timeSource = ManualClock(autoAdvance: true).timeSource
      let transport = ScriptedTransport(answering: { (request, _) throws(TransportError) in try self.answer(request) })
      return TransportNetworkStack(transport: transport, configuration: configuration)
    }
  }

  private let read = HTTPResource<Counter, TextAPIError>.get(Self.url)

  private func increment(_ counter: Counter) -> HTTPResource<Counter, TextAPIError> {
    .put(Self.url, json: Counter(count: counter.count + 1))
  }

  @Test("A write has the tag of what was read, and its response is returned")
  func once() async throws {
    let server = Server()
    let answer = try await server.stack().update(read) { increment($0) }
    #expect(answer?.value == Counter(count: 1))
    #expect(server.state.withLock { $0.writes } == 1)
  }

  @Test("After a change by others, the resource is read again and the change is made anew")
  func rivals() async throws {
    let server = Server(.init(rivals: 3))
    var seen: [Int] = []
    let answer = try await server.stack().update(read) {
      seen.append($0.count)
      return increment($0)
    }
    #expect(seen == [0, 100, 200, 300])
    #expect(answer?.value == Counter(count: 301))
    #expect(server.state.withLock { $0.writes } == 1)
  }

  @Test("The number of writes is bounded, and the error is the last refusal", arguments: [(-1, 1), (1, 1), (3, 3)])
  func bounded(attempts: Int, expected: Int) async throws {
    let server = Server(.init(rivals: 10))
    let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) {
      try await server.stack().update(read, attempts: attempts) { increment($0) }
    }
    #expect(error?.statusCode == .preconditionFailed)
    #expect(server.state.withLock { $0.rivals } == 10 - expected)
  }

  @Test("A write whose response was lost is applied once, and the refusal of its repetition ends the update")
  func lostResponse() async throws {
    let server = Server(.init(losesResponse: true))
    let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) {
      try await server.stack([.retry]).update(read) { increment($0) }
    }
    #expect(error?.statusCode == .preconditionFailed && error?.attempts.count == 2)
    #expect(server.state.withLock { $0.count == 1 && $0.writes == 1 })
  }

  @Test("Without a change, nothing is written, and other errors end the update")
  func others() async throws {
    let server = Server()
    let nothing = try await server.stack().update(read) { _ in HTTPResource<Counter, TextAPIError>?.none }
    #expect(nothing == nil && server.state.withLock { $0.writes } == 0)
    struct Refusal: Error {}
    await #expect(throws: Refusal.self) {
      try await server.stack().update(read) { _ -> HTTPResource<Counter, TextAPIError>? in throw Refusal() }
    }
  }

  @Test(
    "The condition is one strong tag, or else a date older than the response; without both nothing is written",
    arguments: [
      ([.eTag: "\"a\"", .lastModified: Self.date], "if-match", "\"a\""),
      ([.eTag: "W/\"a\"", .lastModified: Self.date, .date: Self.later], "if-unmodified-since", Self.date),
      ([.eTag: "*", .lastModified: Self.date, .date: Self.later], "if-unmodified-since", Self.date),
      ([.lastModified: Self.date, .date: Self.date], nil, nil), ([.lastModified: Self.date], nil, nil),
      ([.lastModified: "yesterday", .date: Self.later], nil, nil), ([.eTag: "*"], nil, nil),
      ([.eTag: "\"a\", \"b\""], nil, nil), ([.eTag: "\""], nil, nil), ([.eTag: "a"], nil, nil),
      ([.eTag: "W/\"a\""], nil, nil), ([:], nil, nil),
    ] as [(HTTPFields, String?, String?)])
  func conditions(fields: HTTPFields, name: String?, value: String?) async throws {
    let transport = ScriptedTransport([.answer(200, fields: fields, body: #"{"count": 1}"#), .answer(200, body: "{}")])
    let update = { @Sendable () async throws in
      _ = try await TransportNetworkStack(transport).update(read) { _ in
        HTTPResource<NoContent, TextAPIError>.put(Self.url, json: Counter(count: 2))
      }
    }
    guard let name else {
      let error = await #expect(throws: HTTPFetchError<TextAPIError>.self) { try await update() }
      #expect(error?.code == .noValidator && transport.requests.count == 1)
      return
    }
    try await update()
    #expect(transport.requests.last?.head.headerFields[try #require(HTTPField.Name(name))] == value)
  }

  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let later = "Sun, 06 Nov 1994 08:49:38 GMT"

  @Test("The resource is read past every cache and without content codings")
  func caches() async throws {
    let fields: HTTPFields = [.eTag: "\"a\"", .cacheControl: "max-age=60"]
    let transport = ScriptedTransport([
      .answer(200, fields: fields, body: #"{"count": 1}"#), .answer(200, fields: fields, body: #"{"count": 4}"#),
      .answer(412), .answer(200, fields: fields, body: #"{"count": 5}"#), .answer(200, body: #"{"count": 6}"#),
    ])
    var configuration = StackConfiguration()
    configuration.cache = HTTPCache()
    configuration.timeSource = ManualClock(autoAdvance: true).timeSource
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    _ = try await stack.fetch(read)
    let answer = try await stack.update(read) { increment($0) }
    #expect(answer?.value == Counter(count: 6))
    #expect(transport.requests.map(\.head.method) == [.get, .get, .put, .get, .put])
    for number in [1, 3] {
      #expect(transport.requests[number].head.headerFields[.cacheControl] == "no-cache")
      #expect(transport.requests[number].head.headerFields[.acceptEncoding] == "identity")
    }
  }
}
