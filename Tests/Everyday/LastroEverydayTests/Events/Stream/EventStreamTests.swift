// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Event streams", .timeLimit(.minutes(15)))
struct EventStreamTests {
  @Test("Events have name, data and the last event ID, and the stream ends with a 204")
  func events() async throws {
    let transport = ScriptedTransport([
      .events("id: 1\nevent: add\ndata: a\n", "data: b\n\nda", "ta: c\n\n"), .answer(204),
    ])
    let stream = eventStack(transport).events(try .test())
    let (events, error) = await stream.read()
    #expect(error == nil)
    #expect(
      events == [
        ServerSentEvent(name: "add", data: "a\nb", lastEventID: "1"), ServerSentEvent(data: "c", lastEventID: "1"),
      ])
    #expect(transport.requests.count == 2)
    try transport.verify()
  }

  @Test("The request accepts event streams and disables caching")
  func request() async throws {
    let transport = ScriptedTransport([.answer(204)])
    let stack = eventStack(transport)
    let stream = stack.events(try .test())
    #expect(transport.requests.isEmpty)
    _ = await stream.read()
    let fields = try #require(transport.requests.first).head.headerFields
    #expect(fields[.accept] == "text/event-stream")
    #expect(fields[.cacheControl] == "no-store")
    #expect(transport.requests.first?.lastEventID == nil)
  }

  @Test("The caller's values of these fields are kept")
  func ownFields() async throws {
    let transport = ScriptedTransport([.answer(204)])
    let own: HTTPFields = [.accept: "application/json, text/event-stream", .cacheControl: "no-cache"]
    _ = await eventStack(transport).events(try .test(fields: own)).read()
    let fields = try #require(transport.requests.first).head.headerFields
    #expect(fields[.accept] == own[.accept])
    #expect(fields[.cacheControl] == own[.cacheControl])
  }

  @Test(
    "The content type may have a charset and any case",
    arguments: [
      "text/event-stream", "TEXT/Event-Stream", "text/event-stream;charset=utf-8", "Text/Event-Stream ; charset=latin1",
      " text/event-stream\t",
    ])
  func types(type: String) async throws {
    let transport = ScriptedTransport([.events("data: é\n\n", type: type), .answer(204)])
    #expect(await eventStack(transport).events(try .test()).data() == ["é"])
  }

  @Test(
    "Another content type is refused permanently, and its body is not read",
    arguments: [
      nil, "text/plain", "text/event-stream2", "application/json", "text/event-stream, text/html", "text", "",
    ])
  func otherTypes(type: String?) async throws {
    let source = FedSource()
    let transport = ScriptedTransport([
      .perform { _ throws(TransportError) in .events(source: source, type: type) }
    ])
    let (events, error) = await eventStack(transport).events(try .test()).read()
    #expect(events.isEmpty)
    #expect(error?.words == "response/unexpected_content_type")
    #expect(error?.response?.status == .ok)
    #expect(source.isCancelled)
    #expect(source.reads == 0)
    try transport.verify()
  }

  @Test("Another success than 200 is refused permanently", arguments: [201, 202, 206, 299])
  func otherSuccesses(status: Int) async throws {
    let transport = ScriptedTransport([.events("data: a\n\n", status: status)])
    #expect(await eventStack(transport).events(try .test()).data() == ["response/unexpected_status"])
    try transport.verify()
  }

  @Test("A permanent error status ends the stream with the API's own error", arguments: [400, 401, 403, 404, 410, 422])
  func refusals(status: Int) async throws {
    let transport = ScriptedTransport([.answer(status, body: #"{"message":"no"}"#)])
    let resource = HTTPResource<Data, APIFailure>(
      baseRequestMaking: .request(try .test()), decoding: .raw, errorDecoding: .json())
    let (_, error) = await eventStack(transport).events(resource).read()
    #expect(error?.apiError == APIFailure(message: "no"))
    #expect(error?.statusCode?.code == status)
    try transport.verify()
  }

  @Test("The stack's retries run within a connection, and its ledger stays accessible")
  func retries() async throws {
    let transport = ScriptedTransport([.answer(503), .answer(503), .events("data: a\n\n")])
    let clock = ManualClock(autoAdvance: true)
    let stack = eventStack(transport, clock: clock, interceptors: [RetryInterceptor(policy: .maxRetries(2))])
    let stream = stack.events(try .test())
    #expect(stream.response == nil)
    #expect(await stream.data(1) == ["a"])
    #expect(stream.response?.attempts.count == 3)
    #expect(clock.sleeps.isEmpty)
  }

  @Test("An authenticator handles a 401 before the stream sees it")
  func authentication() async throws {
    let transport = ScriptedTransport([.answer(401), .events("data: a\n\n")])
    let authenticator = Hooks(
      make: { result, context in
        result.map {
          var request = $0
          if context.retryState.retryCount > 0 { request.head.headerFields[.authorization] = "Bearer new" }
          return request
        }
      }, failed: { $0.error.statusCode == .unauthorized ? .retry : .none })
    let stream = eventStack(transport, interceptors: [authenticator]).events(try .test())
    #expect(await stream.data(1) == ["a"])
    #expect(transport.requests.last?.head.headerFields[.authorization] == "Bearer new")
  }

  @Test("No more is read than the reader consumes")
  func backPressure() async throws {
    let source = FedSource()
    for number in 0..<10 { source.feed("data: \(number)\n\ndata: and more\n\n") }
    var events = eventStack(ScriptedTransport([.events(source)])).events(try .test()).makeAsyncIterator()
    #expect(source.reads == 0)
    #expect(try await events.next()?.data == "0")
    #expect(try await events.next()?.data == "and more")
    #expect(source.reads == 1)
    #expect(try await events.next()?.data == "1")
    #expect(source.reads == 2)
  }

  @Test("Leaving the loop closes the connection")
  func leaving() async throws {
    let source = FedSource()
    source.feed("data: a\n\n")
    let stream = eventStack(ScriptedTransport([.events(source)])).events(try .test())
    for try await event in stream {
      #expect(event.data == "a")
      #expect(!source.isCancelled)
      break
    }
    #expect(source.isCancelled)
  }

  @Test("After its end or an error the stream yields and sends nothing more")
  func afterTheEnd() async throws {
    let transport = ScriptedTransport([.answer(204), .answer(404)])
    let stack = eventStack(transport)
    var ended = stack.events(try .test()).makeAsyncIterator()
    #expect(try await ended.next() == nil)
    #expect(try await ended.next() == nil)
    var failed = stack.events(try .test()).makeAsyncIterator()
    await #expect(throws: HTTPFetchError<any Error>.self) { _ = try await failed.next() }
    #expect(try await failed.next() == nil)
    try transport.verify()
  }

  @Test(
    "An event or an ID over its limit ends the stream permanently",
    arguments: [
      ("data: 1234\ndata: 1234\ndata: 1234\n\n", "event"), ("data: 1234567890123456789\n\n", "event"),
      ("id: 12345678\n\n", "identifier"),
    ])
  func limits(text: String, what: String) async throws {
    try await expectLimit(text, what)
  }

  @Test("A line over the limit ends the stream permanently, even if it is a comment that has not ended")
  func longLine() async throws {
    try await expectLimit(":" + String(repeating: "x", count: (1 << 20) + 6), "line")
  }

  @Test("Comments, names and identifiers may be longer than the data of an event")
  func longFields() async throws {
    var options = EventStreamOptions()
    options.maximumEventBytes = 10
    let id = String(repeating: "7", count: 4 << 10)
    let name = String(repeating: "n", count: 100)
    let source = FedSource()
    source.feed(":" + String(repeating: " ", count: 2_048) + "\nid: \(id)\nevent: \(name)\ndata: 1234567890\n\n")
    source.end()
    let transport = ScriptedTransport([.events(source), .answer(204)])
    let (events, error) = await eventStack(transport).events(try .test(), options: options).read()
    #expect(events == [ServerSentEvent(name: name, data: "1234567890", lastEventID: id)])
    #expect(error == nil)
  }

  private func expectLimit(_ text: String, _ what: String) async throws {
    var options = EventStreamOptions()
    (options.maximumEventBytes, options.maximumIDBytes) = (10, 7)
    let source = FedSource()
    source.feed("data: a\n\n" + text)
    let transport = ScriptedTransport([.events(source)])
    let (events, error) = await eventStack(transport).events(try .test(), options: options).read()
    #expect(events.map(\.data) == ["a"])
    #expect(error?.words == "limit/event_too_large")
    #expect(error?.message.contains(what) == true)
    #expect(source.isCancelled)
    try transport.verify()
  }

  @Test("Invalid options are refused before anything is sent")
  func badOptions() async throws {
    let edits: [(inout EventStreamOptions) -> Void] = [
      { $0.maximumEventBytes = 0 }, { $0.firstEvent = .zero }, { $0.maximumReconnections = -1 },
      { $0.lastEventID = "a\nb" }, { $0.lastEventID = "\u{0}" },
      { $0.lastEventID = String(repeating: "x", count: 4097) },
    ]
    for edit in edits {
      var options = EventStreamOptions()
      edit(&options)
      let transport = ScriptedTransport()
      let (_, error) = await eventStack(transport).events(try .test(), options: options).read()
      #expect(error?.words == "request/invalid_option")
      #expect(error?.hint != nil)
      #expect(transport.requests.isEmpty)
    }
  }

  @Test("A body in memory can be read as events")
  func collectedBody() async throws {
    let step = ScriptedTransport.Step.answer(
      200, fields: [.contentType: "text/event-stream"], body: "data: a\n\ndata: b")
    let stream = eventStack(ScriptedTransport([step, .answer(204)])).events(try .test())
    #expect(await stream.data() == ["a"])
  }

  @Test("Any stack can be used, with the standard limits if it states none")
  func otherStacks() async throws {
    struct Wrapped: HTTPNetworkStack {
      var inner: TransportNetworkStack

      func fetch(
        _ resource: RawHTTPResource
      ) async throws(HTTPFetchError<any Error>) -> Fetched<Data, ResourceResponse> {
        try await inner.fetch(resource)
      }

      func fetch<Model, APIError>(
        _ resource: HTTPResource<Model, APIError>
      ) async throws(HTTPFetchError<APIError>) -> Fetched<Model, ResourceResponse> {
        try await inner.fetch(resource)
      }

      func stream<Model, APIError>(
        _ resource: HTTPResource<Model, APIError>
      ) async throws(HTTPFetchError<APIError>) -> Fetched<ResponseBody, ResourceResponse> {
        try await inner.stream(resource)
      }
    }

    let transport = ScriptedTransport([.events("data: a\n\n")])
    let stream = Wrapped(inner: eventStack(transport)).events(try .test())
    #expect(await stream.data(1) == ["a"])
    #expect(transport.requests.first?.idleTimeout == .seconds(300))
  }
}

extension ScriptedTransport.Step {
  /// Responds with events in the given pieces. The body then ends or fails.
  static func events(
    _ pieces: String..., type: String? = "text/event-stream", status: Int = 200, failure: TransportError? = nil
  ) -> Self {
    .perform { _ throws(TransportError) in
      .events(source: ChunkSource(pieces.map { Data($0.utf8) }, failure: failure), type: type, status: status)
    }
  }

  /// Responds with events that the test feeds.
  static func events(_ source: FedSource) -> Self { .perform { _ throws(TransportError) in .events(source: source) } }

  /// Responds with events, and then loses the connection.
  static func lost(_ pieces: String...) -> Self {
    .perform { _ throws(TransportError) in
      .events(source: ChunkSource(pieces.map { Data($0.utf8) }, failure: .lost))
    }
  }
}

extension TransferResponse {
  static func events(
    source: any ResponseBodySource, type: String? = "text/event-stream", status: Int = 200
  ) -> Self {
    var head = HTTPResponse(status: .init(code: status))
    head.headerFields[.contentType] = type
    return TransferResponse(head: head, body: ResponseBody(source: source))
  }
}

extension TransportError {
  static let lost = TransportError(
    stage: .response, code: .connectionLost, message: "the connection was lost", requestSent: true)
}

/// A streamed body that the test feeds.
final class FedSource: ResponseBodySource {
  private struct State: Sendable {
    var pieces: [Data] = []
    var end: Result<Void, TransportError>?
    var isCancelled = false
    var reads = 0
  }

  private let state = Watched(State())

  var finalFacts: TransferFacts? { nil }
  var isCancelled: Bool { state.read(\.isCancelled) }
  /// The number of reads so far.
  var reads: Int { state.read(\.reads) }

  func feed(_ text: String) { state.change { $0.pieces.append(Data(text.utf8)) } }
  func end(_ failure: TransportError? = nil) { state.change { $0.end = failure.map { .failure($0) } ?? .success(()) } }
  func cancel() { state.change { $0.isCancelled = true } }
  func waitForReads(_ count: Int) async { _ = await state.wait { $0.reads >= count } }

  func next() async throws(TransportError) -> Data? {
    state.change { $0.reads += 1 }
    let isThere = await state.wait { !$0.pieces.isEmpty || $0.end != nil || $0.isCancelled }
    if !isThere || isCancelled { throw .cancelled(requestSent: true) }
    if let piece = state.change({ $0.pieces.isEmpty ? nil : $0.pieces.removeFirst() }) { return piece }
    try state.read(\.end)?.get()
    return nil
  }
}

/// Returns a stack whose random additions are half of their range.
func eventStack(
  _ transport: ScriptedTransport, clock: ManualClock = ManualClock(autoAdvance: true),
  interceptors: [any HTTPResourceInterceptor] = [], configure: (inout StackConfiguration) -> Void = { _ in }
) -> TransportNetworkStack {
  TransportNetworkStack(transport, time: clock.timeSource, interceptors: interceptors) {
    $0.randomSource = RandomSource { 1 << 63 }
    configure(&$0)
  }
}

extension EventStream where Element == ServerSentEvent {
  /// Reads at most `count` events, and returns them with the error that ended the stream, if any.
  func read(_ count: Int = .max) async -> (events: [ServerSentEvent], error: HTTPFetchError<APIError>?) {
    var events: [ServerSentEvent] = []
    var iterator = makeAsyncIterator()
    do throws(HTTPFetchError<APIError>) {
      while events.count < count, let event = try await iterator.next() { events.append(event) }
    } catch {
      return (events, error)
    }
    return (events, nil)
  }

  /// Returns the data of the events, followed by the stage and code of the error that ended the stream, if any.
  func data(_ count: Int = .max) async -> [String] {
    let (events, error) = await read(count)
    return events.map(\.data) + (error.map { [$0.words] } ?? [])
  }
}

extension AsyncSequence where Element: Sendable {
  /// Returns the elements of the sequence, and the error that ended it, if any.
  func outcome<APIError>() async -> (elements: [Element], error: HTTPFetchError<APIError>?)
  where Failure == HTTPFetchError<APIError> {
    var elements: [Element] = []
    var iterator = makeAsyncIterator()
    do throws(HTTPFetchError<APIError>) {
      while let element = try await iterator.next(isolation: nil) { elements.append(element) }
    } catch {
      return (elements, error)
    }
    return (elements, nil)
  }
}

extension TransferRequest {
  var lastEventID: String? { head.headerFields.first { $0.name.rawName == "Last-Event-ID" }?.value }
}
