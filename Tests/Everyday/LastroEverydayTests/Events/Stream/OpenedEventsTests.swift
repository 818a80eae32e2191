// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Open event streams", .timeLimit(.minutes(15)))
struct OpenedEventsTests {
  private func open(
    _ steps: ScriptedTransport.Step..., until end: EventMark = .none
  ) async throws -> EventStream<ServerSentEvent, any Error> {
    let transport = ScriptedTransport(steps)
    return try await eventStack(transport).events(try .test()).opened(until: end)
  }

  private func data(_ events: EventStream<ServerSentEvent, any Error>) async throws -> [String] {
    var all: [String] = []
    for try await event in events { all.append(event.data) }
    return all
  }

  @Test("The head is known before the events are read, and another task may read them")
  func handedOn() async throws {
    let events = try await open(.events("data: a\n\nda", "ta: b\n\n"), .answer(204))
    #expect(events.response?.status == .ok)
    let read = Task { try await data(events) }
    #expect(try await read.value == ["a", "b"])
    #expect(try await data(events).isEmpty)
  }

  @Test("The events of an open stream can be decoded, up to its end mark")
  func decoded() async throws {
    let events = try await open(.events("data: 1\n\ndata: 2\n\ndata: [DONE]\n\ndata: 3\n\n"), until: "[DONE]")
    let (numbers, error) = await events.decoding(Int.self).outcome()
    #expect(numbers == [1, 2] && error == nil)
    #expect(await events.decoding(Int.self).outcome().elements.isEmpty)
  }

  @Test("The marks of a decoded stream hold for a stream that is open already, also for its first event")
  func decodedMarks() async throws {
    let cut = try await open(.events("data: 1\n\n"), .answer(204))
    let (numbers, error) = await cut.decoding(Int.self, until: "[DONE]").outcome()
    #expect(numbers == [1] && error?.code == .truncatedStream)
    let empty = try await open(.answer(204))
    #expect(await empty.decoding(Int.self, until: "[DONE]").outcome().error?.code == .truncatedStream)
    let failed = try await open(.events(Self.overloaded), .answer(204))
    let failure = await failed.decoding(Int.self, failure: .event("error")).outcome().error
    #expect(failure?.statusCode == .ok && failure?.code == .unexpectedStatus)
    let closed = try await open(.events("data: 1\n\n"))
    let outcome = await closed.decoding(Int.self, until: .close).outcome()
    #expect(outcome.elements == [1] && outcome.error == nil)
  }

  @Test("The type of a declared stream determines the errors of a URL's events, and bytes are the default")
  func declared() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(429))
    let stack = eventStack(transport)
    let asked = ["stream": true]
    await #expect(throws: HTTPFetchError<TextAPIError>.self) {
      let _: EventStream<ServerSentEvent, TextAPIError> =
        try await stack.events(.post("https://api.test/", json: asked)).opened()
    }
    await #expect(throws: HTTPFetchError<TextAPIError>.self) {
      let _: EventStream<ServerSentEvent, TextAPIError> =
        try await stack.events(.get("https://api.test/"), maximumReconnections: 0).opened()
    }
    await #expect(throws: HTTPFetchError<any Error>.self) {
      let _ = try await stack.events(.post("https://api.test/", json: asked)).opened()
    }
    #expect(transport.requests.map(\.head.method) == [.post, .get, .post])
  }

  @Test("A stream that is open is not opened again")
  func openedTwice() async throws {
    let events = try await open(.events("data: a\n\n"), .answer(204))
    #expect(try await data(try await events.opened()) == ["a"])
  }

  @Test("A status that is no stream is thrown before anything is handed on")
  func refused() async throws {
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await open(.answer(401)) }
    #expect(error?.statusCode == .unauthorized)
  }

  @Test("The event with the end mark is the last one, and an end without it fails")
  func endMark() async throws {
    let events = try await open(.events("data: a\n\ndata: [DONE]\n\ndata: c\n\n"), until: "[DONE]")
    #expect(try await data(events) == ["a", "[DONE]"])
    let marked = try await open(.events("data: [DONE]\n\ndata: c\n\n"), until: "[DONE]")
    #expect(try await data(marked) == ["[DONE]"])
    let cut = try await open(.events("data: a\n\n"), .answer(204), until: "[DONE]")
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await data(cut) }
    #expect(error?.code == .truncatedStream)
  }

  private static let overloaded = "event: error\ndata: {\"message\":\"overloaded\"}\n\n"

  private func open(failing text: String) async throws -> EventStream<ServerSentEvent, APIFailure> {
    let resource = HTTPResource<ResponseBody, APIFailure>(
      baseRequestMaking: .request(try .test(.post)), decoding: .streamed, errorDecoding: .json())
    return try await eventStack(ScriptedTransport([.events(text)])).events(resource)
      .opened(until: "[DONE]", failure: .event("error"))
  }

  @Test("A first event that reports an error of the API is thrown before anything is handed on")
  func firstIsFailure() async throws {
    let error = await #expect(throws: HTTPFetchError<APIFailure>.self) { try await open(failing: Self.overloaded) }
    #expect(error?.apiError == APIFailure(message: "overloaded"))
    #expect(error?.statusCode == .ok)
  }

  @Test("A later event that reports an error of the API ends the events with that error, and is not returned")
  func laterFailure() async throws {
    var events = try await open(failing: "data: a\n\n\(Self.overloaded)data: b\n\n").makeAsyncIterator()
    #expect(try await events.next()?.data == "a")
    let error = await #expect(throws: HTTPFetchError<APIFailure>.self) { try await events.next() }
    #expect(error?.apiError == APIFailure(message: "overloaded"))
    #expect(try await events.next() == nil)
  }

  @Test("The end of a stream marks no event, so it is refused as the mark of failures, before anything is sent")
  func closeIsNoFailure() async throws {
    let transport = ScriptedTransport([])
    let events = eventStack(transport).events(try .test())
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await events.opened(failure: .close) }
    #expect(error?.code == .invalidOption)
    #expect(transport.requests.isEmpty)
  }

  @Test("Without failure events, an event named error is an event like others")
  func unnamedFailure() async throws {
    let events = try await open(.events(Self.overloaded), .answer(204))
    #expect(try await data(events) == ["{\"message\":\"overloaded\"}"])
  }

  @Test("A server without events opens a stream that ends at once")
  func empty() async throws {
    #expect(try await data(try await open(.answer(204))).isEmpty)
  }

  @Test(
    "An event is written as the parser reads it",
    arguments: [
      ServerSentEvent(data: "a"), ServerSentEvent(name: "add", data: "a\nb\n", lastEventID: "7"),
      ServerSentEvent(data: ""), ServerSentEvent(name: "x", data: " leading", lastEventID: "é"),
    ])
  func written(event: ServerSentEvent) async throws {
    let events = try await open(.events(event.wireText, "data: end\n\n"), .answer(204))
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next() == event)
  }

  @Test("Line ends cannot begin a field that the event does not have")
  func injection() {
    let event = ServerSentEvent(name: "a\ndata: x", data: "b\rid: 9\r\nc", lastEventID: "1\nretry: 0")
    #expect(event.wireText == "event: adata: x\nid: 1retry: 0\ndata: b\ndata: id: 9\ndata: c\n\n")
  }
}
