// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting
import TestSupport
import Testing

private struct Chunk: Decodable, Sendable {
  var text: String
  var done: Bool?
}

/// An observer that records the ends of bodies.
private final class EndRecorder: FetchObserver {
  let ends = EventRecorder<(callID: UInt64, words: String)>()

  func observe(_ event: FetchEvent) {
    guard case .bodyEnded(_, let error, _) = event.kind else { return }
    ends.record((event.callID, error?.words ?? "whole"))
  }

  var words: [String] { ends.events.map(\.words) }
}

@Suite("Ends of streams in observers and ledgers", .timeLimit(.minutes(15)))
struct StreamEndReportTests {
  private let recorder = EndRecorder()
  private let clock = ManualClock()

  private func stack(
    _ step: ScriptedTransport.Step, clock: ManualClock = ManualClock(autoAdvance: true)
  ) -> TransportNetworkStack {
    eventStack(ScriptedTransport([step]), clock: clock) { $0.observers = [recorder] }
  }

  private func resource() throws -> HTTPResource<ResponseBody, APIFailure> {
    HTTPResource(baseRequestMaking: .request(try .test(.post)), decoding: .streamed, errorDecoding: .json())
  }

  /// Reads models until the stream ends.
  private func readModels(
    _ texts: String..., until end: EventMark = .none, failure: EventMark = .none, eventBytes: Int = 1_000
  ) async throws -> HTTPFetchError<APIFailure>? {
    var options = EventStreamOptions()
    options.maximumEventBytes = eventBytes
    let source = FedSource()
    for text in texts { source.feed(text) }
    source.end()
    return await stack(.events(source)).events(try resource(), options: options)
      .decoding(Chunk.self, until: end, failure: failure).outcome().error
  }

  @Test("An event stream that falls silent after its first event has failed for observers")
  func stall() async throws {
    let source = FedSource()
    source.feed("data: a\n\n")
    let stream = stack(.events(source), clock: clock).events(try RawHTTPResource.test(.post))
    async let data = stream.data()
    await source.waitForReads(2)
    _ = await eventually { clock.nextLimit == .seconds(60) }
    clock.advance(by: .seconds(60))
    #expect(await data == ["a", "timeout/idle_timeout"])
    #expect(recorder.words == ["timeout/idle_timeout"])
  }

  @Test("An event stream without a first event in time has failed for observers, with its own code")
  func noFirstEvent() async throws {
    var options = EventStreamOptions()
    options.firstEvent = .seconds(20)
    let stream = stack(.events(FedSource()), clock: clock).events(try RawHTTPResource.test(.post), options: options)
    async let read = stream.read()
    try await clock.waitForLimits(count: 1)
    clock.advance(by: .seconds(20))
    let error = try #require(await read.error)
    #expect(error.words == "timeout/first_event_timeout")
    #expect(error.message == "no event arrived within 20 s of the response's head")
    #expect(recorder.words == ["timeout/first_event_timeout"])
    #expect(error.ledger.attempts.map(\.error?.code) == [.firstEventTimeout])
  }

  @Test("JSON Lines that fall silent have failed for observers")
  func silentLines() async throws {
    let source = FedSource()
    source.feed("{\"text\":\"a\"}\n")
    let stream = stack(.events(source), clock: clock).jsonLines(Chunk.self, of: try RawHTTPResource.test())
    async let outcome = stream.outcome()
    await source.waitForReads(2)
    _ = await eventually { clock.nextLimit == .seconds(60) }
    clock.advance(by: .seconds(60))
    let error = try #require(await outcome.error)
    #expect(error.words == "timeout/idle_timeout")
    #expect(recorder.words == ["timeout/idle_timeout"])
    #expect(error.ledger.callID == recorder.ends.events.first?.callID)
    #expect(error.ledger.elapsed == .seconds(60))
  }

  @Test("A stream that ends before its end mark has failed for observers")
  func missingMark() async throws {
    let error = try await readModels("data: {\"text\":\"a\"}\n\n", until: .data("[DONE]"))
    #expect(error?.words == "response/truncated_stream")
    #expect(recorder.words == ["response/truncated_stream"])
    let lines = stack(.events("{\"text\":\"a\"}\n")).jsonLines(Chunk.self, of: try RawHTTPResource.test()) {
      $0.done ?? false
    }
    #expect(await lines.outcome().error?.words == "response/truncated_stream")
    #expect(recorder.words == ["response/truncated_stream", "response/truncated_stream"])
  }

  @Test("A stream that reports the API's failure has failed for observers")
  func failureEvent() async throws {
    let error = try await readModels("event: error\ndata: {\"message\":\"overloaded\"}\n\n", failure: .event("error"))
    #expect(error?.apiError == APIFailure(message: "overloaded"))
    #expect(recorder.words == ["response/failure_event"])
    #expect(error?.attempts.map(\.outcome) == [.failed])
  }

  @Test("An error thrown while reading a stream is a failure for observers, with its own code")
  func refusals() async throws {
    #expect(try await readModels("data: [1]\n\n")?.words == "decode/undecodable")
    #expect(try await readModels("data: 0123456789abcdef\n\n", eventBytes: 10)?.words == "limit/event_too_large")
    let page = stack(.events("<html>", type: "text/html")).events(try resource())
    #expect(await page.read().error?.words == "response/unexpected_content_type")
    let lines = stack(.events("{\"text\":1}\n")).jsonLines(Chunk.self, of: try resource())
    #expect(await lines.outcome().error?.words == "decode/undecodable")
    let log = try await stack(.stream(["0123456789"])).stream(RawHTTPResource.test()).value
    let texts = log.lines(maximumBytes: 4)
    #expect(await words { for try await _ in texts {} } == "limit/event_too_large")
    let body = try await stack(.stream(["0123456789"])).stream(RawHTTPResource.test()).value
    #expect(await words { try await body.collect(upTo: 4) } == "limit/body_too_large")
    #expect(
      recorder.words == [
        "decode/undecodable", "limit/event_too_large", "response/unexpected_content_type", "decode/undecodable",
        "limit/event_too_large", "limit/body_too_large",
      ])
  }

  @Test("A stream is complete for observers with its end mark, or at the connection's end if none is needed")
  func wholeStreams() async throws {
    #expect(try await readModels("data: {\"text\":\"a\"}\n\ndata: [DONE]\n\n", until: .data("[DONE]")) == nil)
    #expect(try await readModels("data: {\"text\":\"a\"}\n\n") == nil)
    let source = FedSource()
    source.feed("{\"text\":\"a\",\"done\":true}\n")
    let lines = stack(.events(source)).jsonLines(Chunk.self, of: try resource()) { $0.done ?? false }
    #expect(await lines.outcome().error == nil)
    #expect(recorder.words == ["whole", "whole", "whole"])
  }

  @Test("Errors of a stream show as much of the body as the stack is configured to", arguments: [0, 512])
  func snippets(limit: Int) async throws {
    let transport = ScriptedTransport([.events("data: {\"text\":[\"personal\"]}\n\n")])
    let stack = eventStack(transport) { $0.bodySnippetBytes = limit }
    let error = try #require(await stack.events(try resource()).decoding(Chunk.self).outcome().error)
    #expect((error.bodySnippet == nil) == (limit == 0))
    #expect(error.debugDescription.contains("personal") == (limit > 0))
  }

  @Test("A caller who leaves a stream early counts as cancelling it")
  func leaving() async throws {
    let source = FedSource()
    source.feed("data: a\n\n")
    #expect(await stack(.events(source)).events(try resource()).data(1) == ["a"])
    #expect(recorder.words == ["cancelled/cancelled"])
  }

  @Test("The ledger of a broken stream has the call's number, its whole time, and the attempt as a failure")
  func ledger() async throws {
    let source = FedSource()
    source.feed("data: a\n\n")
    let step = ScriptedTransport.Step.perform { [clock] _ throws(TransportError) in
      clock.advance(by: .milliseconds(250))
      return .events(source: source)
    }
    let stream = stack(step, clock: clock).events(try RawHTTPResource.test(.post))
    async let read = stream.read()
    await source.waitForReads(2)
    _ = await eventually { clock.nextLimit == clock.now + .seconds(60) }
    clock.advance(by: .seconds(60))
    let error = try #require(await read.error)
    let call = try #require(recorder.ends.events.first?.callID)
    let ledger = error.ledger
    #expect(ledger.callID == call && error.response?.ledger.callID == call)
    #expect(ledger.elapsed == .milliseconds(60_250))
    #expect(ledger.request == "POST https://example.com/a" && error.request == ledger.request)
    let attempt = try #require(ledger.attempts.last)
    #expect(attempt.outcome == .failed && attempt.error?.code == .idleTimeout && attempt.status == .ok)
    #expect(attempt.duration == .milliseconds(60_250))
    #expect(ledger.description.hasPrefix("call \(call): POST https://example.com/a\n  1 attempt in 60.25 s"))
    #expect(ledger.json().contains(#""code":"idle_timeout""#))
  }
}
