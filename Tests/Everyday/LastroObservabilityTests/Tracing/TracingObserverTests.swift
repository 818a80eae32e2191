// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import InMemoryTracing
import LastroHAR
import LastroTesting
import TestSupport
import Testing
import Tracing

@testable import Lastro
@testable import LastroObservability

@Suite("Traces of calls", .timeLimit(.minutes(15)))
struct TracingObserverTests {
  let tracer = InMemoryTracer()
  let clock = ManualClock(autoAdvance: true)

  private func stack(
    _ transport: ScriptedTransport, interceptors: [any HTTPResourceInterceptor] = []
  ) -> TransportNetworkStack {
    .observed(transport, by: .tracing(tracer: tracer), clock: clock, interceptors: interceptors)
  }

  private func spans() -> (call: FinishedInMemorySpan?, attempts: [FinishedInMemorySpan]) {
    let spans = tracer.finishedSpans
    return (spans.first { $0.kind == .internal }, spans.filter { $0.kind == .client })
  }

  @Test("A refused host whose name resembles a secret's stays readable")
  func refusedHost() async throws {
    let trust = ServerTrust(
      host: try HostName("token-service"), port: 8443, role: .server, chain: [], otherCertificates: [])
    let failure = TrustFailure(.hostNotPinned, trust: trust)
    let recorder = HARRecorder()
    let stack = TransportNetworkStack.observed(
      ScriptedTransport([.fail(.refusedTrust(failure))]), by: .tracing(tracer: tracer), recorder, clock: clock)
    _ = try await stack.failure(of: .test())
    let archived = recorder.archive().log.entries.compactMap(\.error?.message)
    let texts = archived + tracer.finishedSpans.compactMap(\.status?.message)
    #expect(texts.count == 3 && texts.allSatisfy { $0.contains("token-service:8443 was refused") }, "\(texts)")
  }

  @Test("A call has a span, and each of its attempts a child span")
  func aCallAndItsAttempts() async throws {
    var options = RequestOptions()
    options.operation = "getThing"
    options.urlTemplate = "/{letter}"
    let facts = TransferFacts(httpVersion: "1.1", remoteAddress: "192.0.2.1", remotePort: 443)
    let transport = ScriptedTransport([
      .respond(status: 503), .slow(clock, .milliseconds(20), body: "{}", facts: facts),
    ])
    _ = try await stack(transport, interceptors: [AlwaysRetry(delay: .seconds(2))]).fetch(
      .test(url: "https://example.com/a?q=1&token=hunter2", options: options))
    let (call, attempts) = spans()
    let span = try #require(call)
    #expect(span.operationName == "getThing")
    #expect(span.parentSpanID == nil)
    #expect(span.status == nil)
    #expect(span.events.map(\.name) == ["retry"])
    #expect(span.events.first?.attributes["lastro.retry.delay"]?.toSpanAttribute() == .double(2))
    #expect(span.events.first?.attributes["lastro.retry.reason"]?.toSpanAttribute() == .string("status 503"))
    #expect(attempts.map(\.operationName) == ["GET /{letter}", "GET /{letter}"])
    #expect(attempts.allSatisfy { $0.parentSpanID == span.spanID && $0.traceID == span.traceID })
    #expect(attempts.map { $0.status?.code } == [.error, nil])
    #expect(
      attempts[0].attributes.text == [
        "http.request.method": "GET", "url.full": "https://example.com/a?q=1&token=REDACTED", "url.scheme": "https",
        "url.template": "/{letter}", "lastro.operation": "getThing", "server.address": "example.com",
        "server.port": "443", "lastro.attempt": "1",
        "http.response.status_code": "503", "error.type": "503",
      ])
    #expect(
      attempts[1].attributes.text == [
        "http.request.method": "GET", "url.full": "https://example.com/a?q=1&token=REDACTED", "url.scheme": "https",
        "url.template": "/{letter}", "lastro.operation": "getThing", "server.address": "example.com",
        "server.port": "443", "lastro.attempt": "2",
        "http.response.status_code": "200", "http.request.resend_count": "1", "network.protocol.version": "1.1",
        "network.peer.address": "192.0.2.1", "network.peer.port": "443",
      ])
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test("Times are those of the stack's clock")
  func timesAreThoseOfTheStacksClock() async throws {
    let transport = ScriptedTransport([.slow(clock, .milliseconds(20), status: 500), .respond(status: 200)])
    _ = try await stack(transport, interceptors: [AlwaysRetry(delay: .seconds(2))]).fetch(.test())
    let epoch: UInt64 = 1_000_000_000_000_000_000
    let times = tracer.finishedSpans.map {
      [$0.startInstant.nanosecondsSinceEpoch - epoch, $0.endInstant.nanosecondsSinceEpoch - epoch]
    }
    #expect(times == [[0, 20_000_000], [2_020_000_000, 2_020_000_000], [0, 2_020_000_000]])
  }

  @Test("The parent is the caller's context")
  func theParentIsTheContextOfTheCaller() async throws {
    let outer = tracer.startSpan("outer")
    defer { outer.end() }
    let stack = stack(ScriptedTransport([.respond(status: 200)]))
    try await ServiceContext.withValue(outer.context) { _ = try await stack.fetch(.test()) }
    #expect(spans().call?.parentSpanID == outer.spanID)
  }

  @Test("Each request sent has its own span: a redirect, a retry, and a resend with a new token after 401")
  func aSpanForEachRequest() async throws {
    let transport = ScriptedTransport([
      .redirect(to: "/b"), .respond(status: 503), .respond(status: 401, headers: [.wwwAuthenticate: "Bearer"]),
      .respond(status: 200),
    ])
    let tokens = EventRecorder<Int>()
    let source = CustomAccessTokenSource { _ in
      tokens.record(1)
      return try AccessToken(Secret("token-\(tokens.events.count)"))
    }
    let bearer = try BearerAuthenticator(
      source: source, origins: [try Origin("https://example.com")], timeSource: clock.timeSource)
    let retry = Hooks(failed: { failure in failure.error.statusCode?.code == 503 ? .retryAfter(.seconds(1)) : .none })
    _ = try await stack(transport, interceptors: [retry, bearer]).fetch(.test())
    let (call, requests) = spans()
    #expect(requests.count == 4 && transport.requests.count == 4)
    #expect(requests.allSatisfy { $0.parentSpanID == call?.spanID })
    #expect(requests.map { $0.attributes.text["http.response.status_code"] } == ["302", "503", "401", "200"])
    #expect(requests.map { $0.attributes.text["http.request.resend_count"] } == [nil, "1", "2", "3"])
    #expect(requests.map { $0.attributes.text["lastro.attempt"] } == ["1", "1", "2", "3"])
    #expect(requests.map { $0.status?.code } == [nil, .error, .error, nil])
    let name = try #require(HTTPField.Name(InMemoryTracer.spanIDKey))
    #expect(transport.requests.map { $0.head.headerFields[name] } == requests.map(\.spanID))
    #expect(Set(requests.map(\.spanID)).count == 4)
    #expect(call?.status == nil && tracer.activeSpans.isEmpty)
  }

  @Test("Trace context is sent to the configured origins only")
  func propagatesTo() async throws {
    let transport = ScriptedTransport([.redirect(to: "https://other.example/b"), .respond(status: 200)])
    let observer = TelemetryObserver.tracing(tracer: tracer, propagatesTo: [try Origin("https://example.com")])
    _ = try await TransportNetworkStack.observed(transport, by: observer, clock: clock).fetch(.test())
    let name = try #require(HTTPField.Name(InMemoryTracer.spanIDKey))
    #expect(transport.requests.map { $0.head.headerFields[name] != nil } == [true, false])
    #expect(spans().attempts.count == 2)
  }

  @Test(
    "Injected trace fields are checked like the request, and an invalid one ends the spans")
  func badPropagation() async throws {
    struct Framing: FetchObserver {
      func observe(_ event: FetchEvent) {}
      func propagationFields(callID: UInt64, attempt: Int) -> HTTPFields { [.transferEncoding: "chunked"] }
    }
    let transport = ScriptedTransport([.respond(status: 200)])
    let stack = TransportNetworkStack.observed(
      transport, by: .tracing(tracer: tracer), Framing(), clock: clock)
    #expect(try await stack.failure(of: .test()).code == .conflictingFraming)
    #expect(transport.requests.isEmpty && tracer.activeSpans.isEmpty)
  }

  @Test("A redirect has a span, and so has the request that follows it")
  func redirectsHaveSpans() async throws {
    let transport = ScriptedTransport([.redirect(to: "https://b.example/x?sig=abc"), .respond(status: 404)])
    await #expect(throws: (any Error).self) { _ = try await stack(transport).fetch(.test()) }
    let (call, requests) = spans()
    #expect(
      requests.map { $0.attributes.text["url.full"] } == ["https://example.com/a", "https://b.example/x?sig=REDACTED"])
    #expect(requests.map { $0.attributes.text["server.address"] } == ["example.com", "b.example"])
    #expect(requests.map { $0.attributes.text["error.type"] } == [nil, "404"])
    #expect(call?.status?.code == .error)
    #expect(call?.attributes.text["error.type"] == "404")
  }

  @Test(
    "Only the query values that the conventions list are redacted in a URL",
    arguments: [
      "AWSAccessKeyId", "Signature", "sig", "X-Goog-Signature", "X-Amz-Signature", "X-Amz-Credential",
      "X-Amz-Security-Token",
    ])
  func redactedQueries(name: String) async throws {
    _ = try await stack(ScriptedTransport([.respond(status: 200)])).fetch(
      .test(url: "https://example.com/a?page=2&\(name)=hunter2"))
    #expect(spans().attempts.first?.attributes.text["url.full"] == "https://example.com/a?page=2&\(name)=REDACTED")
  }

  @Test("The known methods can be configured, also by the environment")
  func knownMethods() async throws {
    #expect(KnownMethods.listed(in: nil) == .usual && KnownMethods.listed(in: " , ") == .usual)
    #expect(KnownMethods.listed(in: "GET, PROPFIND") == KnownMethods(["GET", "PROPFIND"]))
    let observer = TelemetryObserver.tracing(tracer: tracer, knownMethods: ["PROPFIND"])
    let stack = TransportNetworkStack.observed(
      ScriptedTransport(repeatingLast: .respond(status: 200)), by: observer, clock: clock)
    for method in ["PROPFIND", "GET"] { _ = try await stack.fetch(.test(try #require(.init(method)))) }
    #expect(spans().attempts.map(\.operationName) == ["PROPFIND", "HTTP"])
    #expect(spans().attempts.map { $0.attributes.text["http.request.method"] } == ["PROPFIND", "_OTHER"])
    #expect(spans().attempts.map { $0.attributes.text["http.request.method_original"] } == [nil, "GET"])
  }

  @Test("Requests refused locally or answered by a cache are marked as not sent and not counted as sent")
  func notSent() async throws {
    let refusal = TransportError(stage: .policy, code: FailureCode("rate_limited"), message: "no")
    let hit = TransferResponse(
      head: HTTPResponse(status: .init(code: 500)), body: ResponseBody(Data()),
      facts: TransferFacts(notes: [.init("cache", detail: "hit", text: "Lastro; hit")]))
    var collapsed = hit
    collapsed.facts.notes = [.init("cache", detail: "missed", text: "Lastro; fwd=uri-miss; collapsed")]
    let transport = ScriptedTransport([.fail(refusal), .reply(hit), .reply(collapsed), .respond(status: 200)])
    _ = try await stack(transport, interceptors: [AlwaysRetry()]).fetch(.test())
    let requests = spans().attempts
    #expect(requests.map { $0.attributes.text["lastro.sent"] != nil } == [true, true, true, false])
    #expect(requests.allSatisfy { $0.attributes.text["http.request.resend_count"] == nil })
  }

  @Test("Failures are errors of both spans, with masked texts")
  func failuresAreErrors() async throws {
    let secret = TransportError(stage: .connect, code: .connectFailed, message: "no way to https://u:p@x/?token=abc")
    await #expect(throws: (any Error).self) {
      _ = try await stack(ScriptedTransport([.fail(secret)])).fetch(.test())
    }
    let (call, attempts) = spans()
    for span in attempts + [call].compactMap({ $0 }) {
      #expect(span.status?.code == .error)
      #expect(span.attributes.text["error.type"] == "connect/connect_failed")
      #expect(span.status?.message?.contains("no way to https://***@x/?token=***") == true)
    }
    #expect(attempts.count == 1)
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test("A request that cannot be made has no span, and its call has one")
  func aRequestThatCannotBeMadeHasNoSpan() async throws {
    let resource = RawHTTPResource(baseRequestMaking: .init { throw TestError() })
    await #expect(throws: (any Error).self) { _ = try await stack(ScriptedTransport()).fetch(resource) }
    #expect(spans().attempts.isEmpty && spans().call?.status?.code == .error)
    #expect(tracer.activeSpans.isEmpty)
  }

  @Test("Cancellation ends every span and is not an error")
  func cancellationEndsEverySpan() async throws {
    let stack = stack(ScriptedTransport([.hang]))
    let task = Task { try await stack.fetch(.test()) }
    try #require(await eventually { tracer.activeSpans.count == 2 })
    task.cancel()
    await #expect(throws: (any Error).self) { _ = try await task.value }
    #expect(tracer.activeSpans.isEmpty)
    let all = tracer.finishedSpans
    #expect(all.count == 2 && all.allSatisfy { $0.status == nil && $0.attributes.text["error.type"] == nil })
  }

  @Test("The spans of a stream end with its body")
  func spansOfAStreamEndWithItsBody() async throws {
    let body = try await stack(ScriptedTransport([.stream(["abc"])])).stream(.test()).value
    #expect(tracer.activeSpans.count == 2)
    for try await _ in body {}
    #expect(tracer.activeSpans.isEmpty)
    #expect(spans().attempts.first?.attributes.text["http.response.body.size"] == "77")
    #expect(spans().call?.status == nil)
  }

  @Test(
    "A stream that breaks off or is dropped ends its spans",
    arguments: [true, false])
  func aStreamThatBreaksOffOrIsDroppedEndsItsSpans(breaks: Bool) async throws {
    let failure = TransportError(stage: .response, code: .truncatedBody, message: "cut", requestSent: true)
    let transport = ScriptedTransport([.stream(["abc", "d"], failure: breaks ? failure : nil)])
    if breaks {
      let body = try await stack(transport).stream(.test()).value
      await #expect(throws: TransportError.self) { for try await _ in body {} }
    } else {
      _ = try await stack(transport).stream(.test())
    }
    #expect(tracer.activeSpans.isEmpty)
    let expected = breaks ? "response/truncated_body" : nil
    #expect(spans().call?.attributes.text["error.type"] == expected)
    #expect(spans().attempts.map { $0.attributes.text["error.type"] } == [expected])
  }

  @Test("A stream without a body ends its spans")
  func aStreamWithoutABodyEndsItsSpans() async throws {
    _ = try await stack(ScriptedTransport([.respond(status: 204)])).stream(.test())
    #expect(tracer.activeSpans.isEmpty)
    #expect(tracer.finishedSpans.count == 2)
  }
}

extension SpanAttributes {
  /// The attributes as text, by name.
  var text: [String: String] {
    var result: [String: String] = [:]
    forEach { name, value in
      switch value {
      case .string(let text): result[name] = text
      case .int64(let number): result[name] = "\(number)"
      case .double(let number): result[name] = "\(number)"
      default: result[name] = "\(value)"
      }
    }
    return result
  }
}
