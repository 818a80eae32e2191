// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroEveryday

private struct Part: Decodable, Sendable, Equatable {
  var text: String
  var done: Bool?
}

@Suite("Streams of JSON", .timeLimit(.minutes(15)))
struct JSONStreamTests {
  private func read(
    _ step: ScriptedTransport.Step, maximumTextBytes: Int = 1 << 20, endsWhenDone: Bool = false
  ) async throws -> [String] {
    let transport = ScriptedTransport([step])
    let isLast: (@Sendable (Part) -> Bool)? = if endsWhenDone { { $0.done ?? false } } else { nil }
    let stream = eventStack(transport).jsonLines(
      Part.self, of: try RawHTTPResource.test(.post), maximumTextBytes: maximumTextBytes, until: isLast)
    let (parts, error) = await stream.outcome()
    try transport.verify()
    return parts.map(\.text) + (error.map { [$0.words] } ?? [])
  }

  @Test("Each line is a model, whatever the content type, also an unterminated last line")
  func lines() async throws {
    let pieces = ["{\"text\":\"a\"}\r\n\n{\"te", "xt\":\"b\"}\n{\"text\":", "\"c\"}"]
    for type in ["application/x-ndjson", "text/plain", nil] {
      #expect(try await read(.events(pieces[0], pieces[1], pieces[2], type: type)) == ["a", "b", "c"])
    }
  }

  @Test("The request accepts these types, unless the caller sets Accept")
  func accept() async throws {
    let transport = ScriptedTransport([.events(""), .events("")])
    let stack = eventStack(transport)
    for resource in [try RawHTTPResource.test(), try .test(fields: [.accept: "application/json"])] {
      _ = await stack.jsonLines(Part.self, of: resource).outcome()
    }
    #expect(
      transport.requests.map { $0.head.headerFields[.accept] } == [
        "application/x-ndjson, application/jsonl, application/json;q=0.5", "application/json",
      ])
    #expect(transport.requests.map(\.idleTimeout) == [.seconds(300), .seconds(300)])
  }

  @Test("The last model ends the stream, and an earlier end is a failure")
  func last() async throws {
    let lines = "{\"text\":\"a\"}\n{\"text\":\"b\",\"done\":true}\n{\"text\":\"c\"}\n"
    #expect(try await read(.events(lines), endsWhenDone: true) == ["a", "b"])
    #expect(
      try await read(.events("{\"text\":\"a\"}\n"), endsWhenDone: true) == ["a", "response/truncated_stream"])
    #expect(try await read(.events("{\"text\":\"a\"}\n"), endsWhenDone: false) == ["a"])
  }

  @Test("The stream is not reconnected: a loss is thrown after the models before it")
  func loss() async throws {
    #expect(try await read(.lost("{\"text\":\"a\"}\n{\"te")) == ["a", "response/connection_lost"])
    #expect(try await read(.answer(503)) == ["http/unexpected_status"])
  }

  @Test("A text over the limit, and one that does not decode, end the stream")
  func limits() async throws {
    let lines = "{\"text\":\"a\"}\n{\"text\":\"bbbbbbb\"}\n"
    #expect(try await read(.events(lines), maximumTextBytes: 15) == ["a", "limit/event_too_large"])
    #expect(try await read(.events("{\"text\":\"a\"}\n{}\n{\"text\":\"c\"}\n")) == ["a", "decode/undecodable"])
  }

  @Test("Invalid options are refused before anything is sent")
  func badOptions() async throws {
    for (bytes, limit) in [(0, nil), (1, .zero)] as [(Int, Duration?)] {
      let transport = ScriptedTransport()
      let stream = eventStack(transport).jsonLines(
        Part.self, of: try RawHTTPResource.test(), maximumTextBytes: bytes, firstText: limit)
      #expect(await stream.outcome().error?.words == "request/invalid_option")
      #expect(transport.requests.isEmpty)
    }
  }

  @Test("Leaving the loop and cancelling close the connection")
  func leaving() async throws {
    let clock = ManualClock()
    let sources = [FedSource(), FedSource()]
    for source in sources { source.feed("{\"text\":\"a\"}\n") }
    let stack = eventStack(ScriptedTransport(sources.map { .events($0) }), clock: clock)
    let left = stack.jsonLines(Part.self, of: try RawHTTPResource.test())
    for try await _ in left { break }
    #expect(sources[0].isCancelled)
    #expect(left.response?.attempts.count == 1)
    let stream = stack.jsonLines(Part.self, of: try RawHTTPResource.test())
    let task = Task { await stream.outcome().error?.words }
    await sources[1].waitForReads(2)
    task.cancel()
    #expect(await task.value == "cancelled/cancelled")
    #expect(sources[1].isCancelled)
  }

  @Test("Silence ends the stream: after 5 minutes before the first byte, and then after the idle timeout")
  func silence() async throws {
    let clock = ManualClock()
    let source = FedSource()
    let stream = eventStack(ScriptedTransport([.events(source)]), clock: clock).jsonLines(
      Part.self, of: try RawHTTPResource.test())
    async let outcome = stream.outcome()
    try await clock.waitForLimits(count: 1)
    #expect(clock.nextLimit == .seconds(300))
    source.feed("{\"text\":\"a\"}\n")
    await source.waitForReads(2)
    _ = await eventually { clock.nextLimit == .seconds(60) }
    clock.advance(by: .seconds(60))
    #expect(await outcome.error?.words == "timeout/idle_timeout")
  }

  @Test("The limit for the first text counts texts: bytes without one do not end it, and the idle timeout follows it")
  func firstText() async throws {
    for line in ["{\"text\":\"a\"}\n", "\n"] {
      let clock = ManualClock()
      let source = FedSource()
      let stream = eventStack(ScriptedTransport([.events(source)]), clock: clock).jsonLines(
        Part.self, of: try RawHTTPResource.test(), firstText: .seconds(20))
      async let outcome = stream.outcome()
      try await clock.waitForLimits(count: 1)
      #expect(clock.nextLimit == .seconds(20))
      source.feed(line)
      await source.waitForReads(2)
      let limit = Duration.seconds(line == "\n" ? 20 : 60)
      _ = await eventually { clock.nextLimit == limit }
      #expect(clock.nextLimit == limit)
      _ = await eventually {
        clock.advance(by: limit)
        return source.isCancelled
      }
      let words = line == "\n" ? "timeout/first_event_timeout" : "timeout/idle_timeout"
      #expect(await outcome.error?.words == words)
    }
  }
}
