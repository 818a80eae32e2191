// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import Logging
import TestSupport
import Testing

@testable import Lastro
@testable import LastroObservability

@Suite("Log lines of calls", .timeLimit(.minutes(15)))
struct LoggingObserverTests {
  private let clock = ManualClock(autoAdvance: true)

  private func stack(
    _ transport: ScriptedTransport, _ observer: TelemetryObserver, interceptors: [any HTTPResourceInterceptor] = []
  ) -> TransportNetworkStack {
    .observed(transport, by: observer, clock: clock, interceptors: interceptors)
  }

  /// Returns the log lines of one fetch.
  private func lines(
    _ steps: ScriptedTransport.Step..., levelsByStatus: [Int: Logger.Level] = [404: .info, 410: .info],
    level: Logger.Level = .trace, retries: Bool = false
  ) async throws -> [RecordingLogHandler.Entry] {
    let (logger, entries) = RecordingLogHandler.make(level: level)
    var options = RequestOptions()
    options.operation = "get\nThing"
    let stack = stack(
      ScriptedTransport(steps), .logging(to: logger, levelsByStatus: levelsByStatus),
      interceptors: retries ? [RetryInterceptor(policy: .maxRetries(1))] : [])
    _ = try? await stack.fetch(.test(url: "https://example.com/a?q=1", options: options))
    return entries.withLock { $0 }
  }

  @Test("A call has one line, at its end, whatever its attempts")
  func calls() async throws {
    let line = try await lines(.slow(clock, .milliseconds(250), status: 503), .answer(200), retries: true)
    #expect(line.map(\.message) == ["call succeeded"] && line.first?.level == .info)
    let metadata = try #require(line.first?.metadata)
    #expect(metadata["attempts"] == "2" && metadata["status"] == "200" && metadata["operation"] == "get\\nThing")
    #expect(metadata["request"]?.description.hasPrefix("GET https://example.com/a?q=") == true)
    let failed = try await lines(.answer(503), .fail(.connect, .connectFailed), retries: true)
    #expect(failed.map(\.message) == ["call failed"] && failed.first?.level == .warning)
    #expect(failed.first?.metadata["code"] == "connect_failed" && failed.first?.metadata["engine_code"] == "7")
    #expect(failed.first?.metadata["attempts"] == "2" && failed.first?.metadata["status"] == nil)
  }

  @Test("Levels depend on the status: 404 is informational, and a cancelled call is neither warning nor error")
  func levels() async throws {
    var levels: [Logger.Level?] = []
    for status in [404, 410, 400, 429, 500] { levels.append(try await lines(.answer(status)).first?.level) }
    #expect(levels == [.info, .info, .warning, .warning, .warning])
    let own: [Int: Logger.Level] = [500: .critical]
    #expect(try await lines(.answer(404), levelsByStatus: own).first?.level == .warning)
    #expect(try await lines(.answer(500), levelsByStatus: own).first?.level == .critical)
    let cancelled = try await lines(.fail(.cancelled(requestSent: true)))
    #expect(cancelled.map(\.message) == ["call cancelled"] && cancelled.first?.level == .debug)
    #expect(try await lines(.answer(404), level: .warning).isEmpty)
  }

  @Test("Levels of successes, failures and cancellations can be chosen")
  func chosenLevels() async throws {
    let steps: [ScriptedTransport.Step] = [
      .answer(200), .fail(.connect, .connectFailed), .fail(.cancelled(requestSent: true)),
    ]
    let (logger, entries) = RecordingLogHandler.make(level: .trace)
    let observer = TelemetryObserver.logging(
      to: logger, successLevel: .trace, failureLevel: .error, cancellationLevel: .notice)
    let stack = stack(ScriptedTransport(steps), observer)
    for _ in steps { _ = try? await stack.fetch(.test()) }
    #expect(entries.withLock { $0.map(\.level) } == [.trace, .error, .notice])
  }

  @Test(
    "A number of similar failures per window are logged, then the count of the others; different ones are logged too")
  func outage() async throws {
    let (logger, entries) = RecordingLogHandler.make()
    let isUp = Lock(false)
    let transport = ScriptedTransport { (_, _) throws(TransportError) in .answer(isUp.withLock { $0 } ? 200 : 503) }
    let stack = stack(transport, .logging(to: logger, maximumAlike: 2, window: .seconds(60)))
    for _ in 0..<7 { _ = try? await stack.fetch(.test()) }
    _ = try? await stack.fetch(.test(url: "https://other.example/"))
    clock.advance(by: .seconds(59))
    _ = try? await stack.fetch(.test())
    #expect(entries.withLock { $0.map(\.message) } == ["call failed", "call failed", "call failed"])
    clock.advance(by: .seconds(1))
    isUp.withLock { $0 = true }
    _ = try await stack.fetch(.test())
    let last = entries.withLock { $0.dropFirst(3) }
    #expect(last.map(\.message) == ["more calls failed alike", "call succeeded"])
    #expect(last.first?.level == .warning)
    #expect(last.first?.metadata == ["count": "6", "server": "https://example.com", "reason": "503"])
    isUp.withLock { $0 = false }
    _ = try? await stack.fetch(.test())
    #expect(entries.withLock { $0.last?.message } == "call failed")
  }

  @Test("Failures held back in a window are reported when the observer is released")
  func end() throws {
    let (logger, entries) = RecordingLogHandler.make()
    do {
      let observer = TelemetryObserver.logging(to: logger, maximumAlike: 0)
      let error = HTTPFetchError<any Error>(.transport(TransportError(stage: .tls, code: .hostMismatch, message: "no")))
      for _ in 0..<3 { observer.observe(FetchEvent(kind: .callEnded(.failure(error)))) }
    }
    #expect(entries.withLock { $0.map(\.message) } == ["call failed", "more calls failed alike"])
    #expect(entries.withLock { $0.last?.metadata } == ["count": "2", "reason": "tls/host_mismatch"])
  }

  @Test("The number of failure kinds is bounded, and without a window each failure is logged")
  func bounds() {
    var sampler = FailureSampler(maximumAlike: 1, window: .seconds(60))
    func tells(_ number: Int) -> Bool {
      sampler.tells(FailureSampler.Kind(server: "\(number)"), at: .warning, now: .seconds(number))
    }
    for number in 0..<FailureSampler.maximumKinds { #expect(tells(number)) }
    #expect((0..<3).map { tells(FailureSampler.maximumKinds + $0) } == [true, false, false])
    let untold = sampler.takeUntold(now: .seconds(10_000))
    #expect(untold == [FailureSampler.Untold(kind: .init(), level: .warning, count: 2)])
    var every = FailureSampler(maximumAlike: 1, window: .zero)
    for _ in 0..<3 {
      let untold = every.takeUntold(now: .zero)
      let isTold = every.tells(.init(), at: .warning, now: .zero)
      #expect(untold.isEmpty && isTold)
    }
  }

  @Test("A stream is logged when it is opened, and again if its body breaks off, but not if its reader leaves")
  func streams() async throws {
    let (logger, entries) = RecordingLogHandler.make()
    let cut = TransportError(stage: .response, code: .truncatedBody, message: "token=PLANTED", requestSent: true)
    let transport = ScriptedTransport([.stream(["a"], failure: cut), .stream(["a"])])
    let stack = stack(transport, .logging(to: logger))
    _ = try? await stack.stream(RawHTTPResource.test()).value.collect(upTo: 10)
    try await stack.stream(RawHTTPResource.test()).value.cancel()
    let all = entries.withLock { $0 }
    #expect(all.map(\.message) == ["stream opened", "stream failed", "stream opened"])
    #expect(all[1].level == .warning && all[1].metadata["error"] == "token=***")
    #expect(all[1].metadata["call"] == all[0].metadata["call"])
  }

  @Test("A stream that was read to its end has a second line, with its bytes and its whole time")
  func endedStream() async throws {
    let (logger, entries) = RecordingLogHandler.make()
    let stack = stack(ScriptedTransport([.stream(["a", "bcd"])]), .logging(to: logger, successLevel: .notice))
    let body = try await stack.stream(RawHTTPResource.test()).value
    clock.advance(by: .seconds(2))
    _ = try await body.collect(upTo: 10)
    let all = entries.withLock { $0 }
    #expect(all.map(\.message) == ["stream opened", "stream ended"] && all.map(\.level) == [.notice, .notice])
    let line = try #require(all.last)
    #expect(line.metadata["bytes"] == "4" && line.metadata["status"] == "200")
    #expect(line.metadata["request"] == "GET https://example.com/a" && line.metadata["duration_ms"] == "2000.0")
    #expect(line.metadata["call"] == all.first?.metadata["call"] && line.metadata["attempts"] == "1")
  }

  @Test("The end of a stream is logged at the level of successes, also if that is above the level of failures")
  func endLevel() async throws {
    for (level, messages) in [(Logger.Level.error, ["stream opened", "stream ended"]), (.critical, [])] {
      let (logger, entries) = RecordingLogHandler.make(level: level)
      let stack = stack(
        ScriptedTransport([.stream(["a"])]), .logging(to: logger, successLevel: .error, failureLevel: .debug))
      _ = try await stack.stream(RawHTTPResource.test()).value.collect(upTo: 10)
      #expect(entries.withLock { $0.map(\.message) } == messages)
    }
  }

  @Test("The line of a failed stream has its request, its status, and the time until the failure")
  func failedStream() async throws {
    let (logger, entries) = RecordingLogHandler.make()
    let cut = TransportError(stage: .response, code: .truncatedBody, message: "cut", requestSent: true)
    let step = ScriptedTransport.Step.perform { [clock] _ throws(TransportError) in
      clock.advance(by: .milliseconds(250))
      return TransferResponse(
        head: HTTPResponse(status: .ok), body: ResponseBody(source: ChunkSource([Data("a".utf8)], failure: cut)))
    }
    let stack = stack(ScriptedTransport([step]), .logging(to: logger))
    let body = try await stack.stream(RawHTTPResource.test()).value
    clock.advance(by: .seconds(2))
    _ = try? await body.collect(upTo: 10)
    let line = try #require(entries.withLock { $0.last })
    #expect(line.message == "stream failed" && line.metadata["code"] == "truncated_body")
    #expect(line.metadata["request"] == "GET https://example.com/a" && line.metadata["status"] == "200")
    #expect(line.metadata["duration_ms"] == "2250.0" && line.metadata["attempts"] == "1")
  }
}
