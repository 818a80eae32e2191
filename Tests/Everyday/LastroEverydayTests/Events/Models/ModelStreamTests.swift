// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting
import TestSupport
import Testing

private struct Chunk: Decodable, Sendable, Equatable, ExpressibleByStringLiteral {
  var text: String

  init(stringLiteral text: String) { self.text = text }
}

@Suite("Streams of models", .timeLimit(.minutes(15)))
struct ModelStreamTests {
  private typealias Outcome = (elements: [Chunk], error: HTTPFetchError<APIFailure>?)

  /// A resource whose errors are JSON.
  private func resource(_ method: HTTPRequest.Method = .post) throws -> HTTPResource<ResponseBody, APIFailure> {
    HTTPResource(baseRequestMaking: .request(try .test(method)), decoding: .streamed, errorDecoding: .json())
  }

  private func read(
    _ steps: ScriptedTransport.Step..., method: HTTPRequest.Method = .post, names: Set<String>? = nil,
    until end: EventMark = .none, failure: EventMark = .none
  ) async throws -> Outcome {
    let transport = ScriptedTransport(steps)
    let outcome: Outcome = await eventStack(transport).events(try resource(method))
      .decoding(Chunk.self, names: names, until: end, failure: failure).outcome()
    try transport.verify()
    return outcome
  }

  @Test("The data of events is decoded up to the end mark, and nothing behind it is read")
  func done() async throws {
    let (chunks, error) = try await read(
      .events("data: {\"text\":\"a\"}\n\ndata: {\"text\":\"b\"}\n\ndata: [DONE]\n\ndata: junk\n\n"),
      until: .data("[DONE]"))
    #expect(error == nil)
    #expect(chunks == ["a", "b"])
  }

  @Test("An event with the key of the end mark completes the stream, and is a model if its name is among the decoded")
  func keyAsMark() async throws {
    let text = "data: {\"text\":\"a\"}\n\ndata: {\"text\":\"b\",\"done\":true}\n\ndata: junk\n\n"
    let cases: [(Set<String>?, Int)] = [(nil, 1), (["message"], 2)]
    for (names, expected) in cases {
      let (chunks, error) = try await read(.events(text), names: names, until: .key("done"))
      #expect(error == nil && chunks.count == expected)
    }
  }

  @Test(
    "An end without the mark is a truncated stream",
    arguments: [EventMark.data("[DONE]"), .event("message_stop"), .key("done")])
  func withoutMark(end: EventMark) async throws {
    let (chunks, error) = try await read(.events("data: {\"text\":\"a\"}\n\n"), until: end)
    #expect(chunks == ["a"])
    #expect(error?.words == "response/truncated_stream")
    #expect(error?.response?.status == .ok)
    let (_, ended) = try await read(.answer(204), until: end)
    #expect(ended?.words == "response/truncated_stream")
    // An end mark in a truncated event does not count.
    let (_, cut) = try await read(.events("event: message_stop\ndata: [DONE]\n"), until: end)
    #expect(cut?.words == "response/truncated_stream")
  }

  @Test("A lost connection is reported as such, and not as a missing mark")
  func lost() async throws {
    let (chunks, error) = try await read(.lost("data: {\"text\":\"a\"}\n\n"), until: .data("[DONE]"))
    #expect(chunks == ["a"])
    #expect(error?.words == "response/connection_lost")
  }

  @Test("A named event ends the stream, and is decoded if its name is listed")
  func namedEnd() async throws {
    let text = "event: delta\ndata: {\"text\":\"a\"}\n\nevent: stop\ndata: {\"text\":\"sum\"}\n\n"
    let (chunks, error) = try await read(.events(text), until: .event("stop"))
    #expect(error == nil)
    #expect(chunks == ["a"])
    let (all, none) = try await read(.events(text), names: ["delta", "stop"], until: .event("stop"))
    #expect(none == nil)
    #expect(all == ["a", "sum"])
  }

  @Test("If the end of the connection ends the stream, a GET is not reconnected; a loss fails or reconnects")
  func close() async throws {
    let (chunks, error) = try await read(.events("data: {\"text\":\"a\"}\n\n"), method: .get, until: .close)
    #expect(error == nil)
    #expect(chunks == ["a"])
    let (more, _) = try await read(
      .lost("data: {\"text\":\"a\"}\n\n"), .events("data: {\"text\":\"b\"}\n\n"), method: .get, until: .close)
    #expect(more == ["a", "b"])
    let (_, lost) = try await read(.lost("data: {\"text\":\"a\"}\n\n"), until: .close)
    #expect(lost?.words == "response/connection_lost")
  }

  @Test("A GET continues over several connections until the mark")
  func reconnected() async throws {
    let (chunks, error) = try await read(
      .events("data: {\"text\":\"a\"}\n\n"), .events("data: {\"text\":\"b\"}\n\ndata: [DONE]\n\n"), method: .get,
      until: .data("[DONE]"))
    #expect(error == nil)
    #expect(chunks == ["a", "b"])
  }

  @Test("Pings, events without data and unlisted names are skipped without decoding")
  func filtered() async throws {
    let text = """
      event: ping\ndata: {"type":"ping"}\n\nevent: other\ndata: 7\n\ndata:\n\ndata: {"text":"a"}\n\n
      """
    let (chunks, error) = try await read(.events(text), names: ["message"])
    #expect(error == nil)
    #expect(chunks == ["a"])
    let (none, undecodable) = try await read(.events(text))
    #expect(none.isEmpty)
    #expect(undecodable?.words == "decode/undecodable")
    // A service may use `ping` events for its own data.
    let (pings, _) = try await read(.events("event: ping\ndata: {\"text\":\"p\"}\n\n"), names: ["ping"])
    #expect(pings == ["p"])
  }

  @Test("Data that does not decode ends the stream with an error that has the data's beginning and the ledger")
  func undecodable() async throws {
    let source = FedSource()
    source.feed("data: {\"text\":\"a\"}\n\ndata: {\"txt\":\"b\"}\n\ndata: {\"text\":\"c\"}\n\n")
    let stream = eventStack(ScriptedTransport([.events(source)])).events(try resource()).decoding(Chunk.self)
    var chunks = stream.makeAsyncIterator()
    #expect(try await chunks.next()?.text == "a")
    do {
      _ = try await chunks.next()
      Issue.record("invalid data decoded")
    } catch {
      #expect(error.words == "decode/undecodable")
      #expect(error.bodySnippet?.text == #"{"txt":"b"}"#)
      #expect(error.attempts.count == 1)
    }
    #expect(try await chunks.next() == nil)
    #expect(source.isCancelled)
  }

  @Test(
    "An event with the API's error is thrown as that error",
    arguments: [
      (EventMark.event("error"), "event: error\ndata: {\"message\":\"overloaded\"}\n\n"),
      (.key("message"), "data: {\"message\":\"overloaded\"}\n\n"),
    ])
  func failures(failure: EventMark, text: String) async throws {
    let (chunks, error) = try await read(
      .events("data: {\"text\":\"a\"}\n\n" + text + "data: {\"text\":\"b\"}\n\n"), until: .data("[DONE]"),
      failure: failure)
    #expect(chunks == ["a"])
    guard case .http(.ok, APIFailure(message: "overloaded"))? = error?.reason else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.body == Data(#"{"message":"overloaded"}"#.utf8))
    #expect(error?.attempts.count == 1)
  }

  @Test("An error event that does not decode is still an error")
  func undecodableFailure() async throws {
    let (_, error) = try await read(.events("event: error\ndata: oh\n\n"), failure: .event("error"))
    #expect(error?.words == "http/unexpected_status")
    #expect(error?.apiError == nil)
  }

  @Test(
    "A key that is null, nested, or outside of an object is not an error",
    arguments: [#"{"text":"a","error":null}"#, #"{"text":"a","other":{"error":1}}"#, #"{"text":"error"}"#])
  func noFailure(data: String) async throws {
    let (chunks, error) = try await read(.events("data: \(data)\n\n"), failure: .key("error"))
    #expect(error == nil)
    #expect(chunks.count == 1)
  }

  @Test("A custom decoder decodes")
  func ownDecoder() async throws {
    struct Moment: Decodable, Sendable { var at: Date }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    let transport = ScriptedTransport([.events("data: {\"at\":7}\n\n")])
    let moments = eventStack(transport).events(try resource()).decoding(Moment.self, decoder: decoder)
    for try await moment in moments { #expect(moment.at == Date(timeIntervalSince1970: 7)) }
  }

  @Test("A decoded end mark closes the connection at once, when the last model is returned")
  func decodedMark() async throws {
    let source = FedSource()
    source.feed("event: stop\ndata: {\"text\":\"sum\"}\n\n")
    let stream = eventStack(ScriptedTransport([.events(source)])).events(try resource())
      .decoding(Chunk.self, names: ["stop"], until: .event("stop"))
    var chunks = stream.makeAsyncIterator()
    #expect(try await chunks.next() == "sum")
    #expect(source.isCancelled)
    #expect(try await chunks.next() == nil)
  }

  @Test("Leaving the loop, and the mark, close the connection, and the response stays accessible")
  func leaving() async throws {
    for text in ["data: {\"text\":\"a\"}\n\n", "data: {\"text\":\"a\"}\n\ndata: [DONE]\n\n"] {
      let source = FedSource()
      source.feed(text)
      let stream = eventStack(ScriptedTransport([.events(source)])).events(try resource())
        .decoding(Chunk.self, until: .data("[DONE]"))
      for try await _ in stream where !text.contains("DONE") { break }
      #expect(source.isCancelled)
      #expect(stream.response?.attempts.count == 1)
    }
  }
}
