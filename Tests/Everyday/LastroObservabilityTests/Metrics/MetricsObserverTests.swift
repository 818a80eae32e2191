// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroTesting
import MetricsTestKit
import TestSupport
import Testing

@testable import Lastro
@testable import LastroObservability

@Suite("Metrics of calls", .timeLimit(.minutes(15)))
struct MetricsObserverTests {
  let metrics = TestMetrics()
  let clock = ManualClock(autoAdvance: true)

  private func stack(
    _ steps: ScriptedTransport.Step..., limit: Int = 2000, interceptors: [any HTTPResourceInterceptor] = []
  ) -> TransportNetworkStack {
    .observed(
      ScriptedTransport(steps),
      by: .metrics(factory: metrics, maximumAttributeSets: limit, recordsBodySizes: true),
      clock: clock,
      interceptors: interceptors)
  }

  private func values(_ label: String, _ dimensions: [(String, String)]) -> [Double] {
    metrics.recorders(label: label, dimensions: dimensions).flatMap(\.values)
  }

  private static let base = [
    ("http.request.method", "GET"), ("server.address", "example.com"), ("server.port", "443"), ("url.scheme", "https"),
  ]

  @Test("A request is measured under OpenTelemetry's names")
  func aRequestIsMeasuredByOpenTelemetrysNames() async throws {
    let facts = TransferFacts(httpVersion: "2", bytesReceived: 1234)
    var options = RequestOptions()
    options.operation = "getThing"
    let stack = stack(.slow(clock, .milliseconds(250), body: "hello", facts: facts))
    _ = try await stack.fetch(.test(.post, body: .raw("12345"), options: options))
    var expected = Self.base
    expected[0].1 = "POST"
    expected.append(("lastro.operation", "getThing"))
    #expect(metrics.meters(label: "http.client.active_requests", dimensions: expected).map(\.values) == [[1, 0]])
    #expect(values("lastro.client.call.duration", expected) == [0.25])
    #expect(values("lastro.client.attempts", expected) == [1])
    expected += [("http.response.status_code", "200"), ("network.protocol.version", "2")]
    #expect(values("http.client.request.duration", expected) == [0.25])
    #expect(values("http.client.request.body.size", expected) == [5])
    #expect(values("http.client.response.body.size", expected) == [1234])
    #expect(metrics.recorders.allSatisfy { $0.aggregate })
  }

  @Test("Connections are counted by state and measured when they are closed")
  func connections() throws {
    let observer = TelemetryObserver.metrics(factory: metrics)
    let origin = try Origin("https://[::1]:8443")
    let states: [ConnectionChange.State?] = [nil, .active, .idle, .active, nil]
    for (index, change) in zip(states, states.dropFirst()).enumerated() {
      observer.observe(ConnectionChange(origin: origin, from: change.0, to: change.1, age: .seconds(index)))
    }
    let server = [("server.address", "::1"), ("server.port", "8443"), ("url.scheme", "https")]
    let counts = ["active", "idle"].map { state in
      metrics.meters(label: "http.client.open_connections", dimensions: server + [("http.connection.state", state)])
        .flatMap(\.values)
    }
    #expect(counts == [[1, 0, 1, 0], [1, 0]])
    #expect(values("http.client.connection.duration", server) == [3])
  }

  @Test("The validity of a client certificate is a gauge, updated by changes of its connections")
  func certificates() throws {
    let observer = TelemetryObserver.metrics(factory: metrics)
    for (from, to, days) in [
      (nil, .active, 3), (.active, .idle, 2), (.idle, nil, 1), (nil, .active, nil),
    ] as [(ConnectionChange.State?, ConnectionChange.State?, Int?)] {
      var change = ConnectionChange(origin: try Origin("https://a.example"), from: from, to: to, age: .zero)
      change.clientCertificateValidity = days.map { .seconds($0 * 86_400) }
      observer.observe(change)
    }
    let server = [("server.address", "a.example"), ("server.port", "443"), ("url.scheme", "https")]
    #expect(values("lastro.client.certificate.validity", server) == [259_200, 172_800])
    #expect(metrics.recorders(label: "lastro.client.certificate.validity").allSatisfy { !$0.aggregate })
  }

  @Test("The reuse of connections is a gauge, without the first connection to each origin")
  func reuse() async throws {
    let observer = TelemetryObserver.metrics(factory: metrics)
    let stack = TransportNetworkStack.observed(
      ScriptedTransport(repeatingLast: .respond(status: 204)), by: observer, clock: clock)
    let ratios = { metrics.recorders(label: "lastro.client.connection.reuse", dimensions: []).flatMap(\.values) }
    func fetch(_ count: Int) async throws { for _ in 0..<count { _ = try await stack.fetch(.test()) } }
    func open(_ url: String) throws {
      observer.observe(ConnectionChange(origin: try Origin(url), from: nil, to: .active, age: .zero))
    }
    // Without events of connections there is nothing to report.
    try await fetch(1)
    #expect(ratios() == [])
    try open("https://example.com")
    try open("https://other.example")
    try await fetch(1)
    #expect(ratios() == [])
    try await fetch(1)
    #expect(ratios() == [1])
    try open("https://example.com")
    try await fetch(1)
    #expect(ratios() == [1, 0.5])
    let opened = metrics.counters(
      label: "lastro.client.connections",
      dimensions: [("server.address", "example.com"), ("server.port", "443"), ("url.scheme", "https")])
    #expect(opened.map(\.totalValue) == [2])
    #expect(metrics.recorders(label: "lastro.client.connection.reuse").allSatisfy { !$0.aggregate })
  }

  @Test("Origins beyond the maximum do not change the gauge")
  func reuseOfManyOrigins() throws {
    var count = ReuseCount()
    for number in 0..<ReuseCount.mostOrigins + 5 { count.countConnection(to: try Origin("https://h\(number).example")) }
    for _ in 0..<2 * ReuseCount.mostOrigins { count.countSentRequest() }
    #expect(count.ratio == 1)
    for _ in 0..<ReuseCount.mostOrigins / 2 { count.countConnection(to: try Origin("https://h0.example")) }
    #expect(count.ratio == 0.5)
  }

  @Test("Every request on the wire counts, including redirects and retries")
  func everyRequestOnTheWireCounts() async throws {
    let stack = stack(
      .redirect(to: "https://other.example:8443/b?token=abc"), .respond(status: 503), .fail(.connect, .connectFailed),
      .respond(status: 204), interceptors: [AlwaysRetry()])
    _ = try await stack.fetch(.test())
    let other = [
      ("http.request.method", "GET"), ("server.address", "other.example"), ("server.port", "8443"),
      ("url.scheme", "https"),
    ]
    let duration = "http.client.request.duration"
    #expect(values(duration, Self.base + [("http.response.status_code", "302")]).count == 1)
    #expect(values(duration, other + [("http.response.status_code", "503"), ("error.type", "503")]).count == 1)
    #expect(values(duration, Self.base + [("error.type", "connect/connect_failed")]).count == 1)
    #expect(values(duration, Self.base + [("http.response.status_code", "204")]).count == 1)
    #expect(metrics.recorders(label: duration).flatMap(\.values).count == 4)
    #expect(values("lastro.client.attempts", Self.base) == [3])
    #expect(values("lastro.client.call.duration", Self.base) == [2])
    #expect(metrics.meters.allSatisfy { $0.lastValue == 0 })
    #expect(!metrics.recorders.contains { $0.dimensions.contains { $0.1.contains("token") || $0.1.contains("/b") } })
  }

  @Test("An unknown method is counted as _OTHER")
  func anUnknownMethodIsOther() async throws {
    _ = try await stack(.respond(status: 200)).fetch(.test(try #require(.init("FROBNICATE"))))
    var expected = Self.base + [("http.response.status_code", "200")]
    expected[0].1 = "_OTHER"
    #expect(values("http.client.request.duration", expected).count == 1)
  }

  @Test("A call without a request has only an error type")
  func aCallWithoutARequestHasAnErrorTypeOnly() async throws {
    let resource = RawHTTPResource(baseRequestMaking: .init { throw TestError() })
    await #expect(throws: (any Error).self) { _ = try await stack().fetch(resource) }
    #expect(values("lastro.client.attempts", [("error.type", "request/request_making_failed")]) == [1])
    #expect(metrics.recorders(label: "http.client.request.duration").isEmpty)
  }

  @Test("A call's error.type is that of its last attempt, however the retries ended")
  func lastAttemptsErrorType() async throws {
    for interceptors: [any HTTPResourceInterceptor] in [[], [.retry]] {
      let transport = ScriptedTransport(repeatingLast: .respond(status: 503))
      let stack = TransportNetworkStack.observed(
        transport, by: .metrics(factory: metrics), clock: clock, interceptors: interceptors)
      _ = try await stack.failure(of: .test())
    }
    #expect(values("lastro.client.attempts", Self.base + [("error.type", "503")]) == [1, 3])
  }

  @Test("Calls to deprecated resources are counted, whether they succeed or fail")
  func deprecated() async throws {
    let (deprecation, sunset) = (
      try #require(HTTPField.Name("Deprecation")), try #require(HTTPField.Name("Sunset"))
    )
    let stack = stack(
      .respond(status: 200, headers: [deprecation: "@1688169599"]), .respond(status: 200),
      .respond(status: 404, headers: [sunset: "Sun, 30 Jun 2024 23:59:59 GMT"]))
    for _ in 1...3 { _ = try? await stack.fetch(.test()) }
    #expect(metrics.counters(label: "lastro.client.deprecated", dimensions: Self.base).flatMap(\.values) == [1, 1])
    let failed = metrics.counters(label: "lastro.client.deprecated", dimensions: Self.base + [("error.type", "404")])
    #expect(failed.flatMap(\.values) == [1])
  }

  @Test("A token that cannot be fetched is reported with the request that needs it")
  func tokenUnavailable() async throws {
    let tokens = ScriptedTransport(repeatingLast: .fail(.connect, .connectFailed))
    let client = try OAuth2Client(tokenURL: "https://id.example/token", id: "app", authentication: .basic("hidden-s"))
    let source = try client.clientCredentials(stack: TransportNetworkStack(tokens, time: clock.timeSource))
    let bearer = try BearerAuthenticator(
      source: source, origins: [try Origin("https://example.com")], timeSource: clock.timeSource)
    _ = try await stack(interceptors: [bearer]).failure(of: .test())
    #expect(values("lastro.client.attempts", Self.base + [("error.type", "connect/token_unavailable")]) == [1])
  }

  @Test("A stream is measured to the end of its body")
  func aStreamIsMeasuredToTheEndOfItsBody() async throws {
    let stack = stack(.stream(["abc", "de"]))
    let value = try await stack.stream(.test()).value
    #expect(metrics.meters.map(\.lastValue) == [1])
    #expect(metrics.recorders(label: "http.client.request.duration").isEmpty)
    clock.advance(by: .seconds(3))
    for try await _ in value {}
    let answered = Self.base + [("http.response.status_code", "200")]
    #expect(values("http.client.request.duration", answered) == [3])
    #expect(values("http.client.response.body.size", answered) == [77])
    #expect(values("lastro.client.call.duration", Self.base) == [0])
    #expect(metrics.meters.map(\.lastValue) == [0])
  }

  @Test("A stream that its reader drops is recorded with its status and without an error")
  func aDroppedStreamIsCancelled() async throws {
    let stack = stack(.stream(["abc", "de"]))
    _ = try await stack.stream(.test())
    let expected = Self.base + [("http.response.status_code", "200")]
    #expect(values("http.client.request.duration", expected) == [0])
    #expect(metrics.meters.map(\.lastValue) == [0])
  }

  @Test("The number of attribute sets is bounded, and others count as overflow")
  func attributesAreBounded() async throws {
    let stack = TransportNetworkStack.observed(
      ScriptedTransport { _ throws(TransportError) in .answer(200) },
      by: .metrics(factory: metrics, maximumAttributeSets: 2), clock: clock)
    for host in 0..<5 { _ = try await stack.fetch(.test(url: "https://host\(host).example/")) }
    let label = "http.client.request.duration"
    #expect(metrics.recorders(label: label).count == 3)
    #expect(values(label, [("otel.metric.overflow", "true")]).count == 3)
    #expect(metrics.meters.count == 3)
    #expect(metrics.meters.allSatisfy { $0.lastValue == 0 })
  }

  @Test("A cancelled request is no longer active and has no error")
  func aCancelledRequestIsNoLongerActive() async throws {
    let transport = ScriptedTransport([.hang])
    let stack = TransportNetworkStack.observed(transport, by: .metrics(factory: metrics), clock: clock)
    let task = Task { try await stack.fetch(.test()) }
    try #require(await eventually { metrics.meters.first?.lastValue == 1 })
    task.cancel()
    await #expect(throws: (any Error).self) { _ = try await task.value }
    #expect(metrics.meters.map(\.lastValue) == [0])
    #expect(values("http.client.request.duration", Self.base).count == 1)
  }

  @Test("Body sizes are recorded if configured, and the scheme is omitted if configured")
  func options() async throws {
    let observer = TelemetryObserver.metrics(factory: metrics, includesScheme: false)
    let transport = ScriptedTransport([.respond(status: 200, body: "hello")])
    _ = try await TransportNetworkStack.observed(transport, by: observer, clock: clock).fetch(
      .test(.post, body: .raw("12345")))
    #expect(!metrics.recorders.contains { $0.label.hasSuffix("body.size") })
    let labels = ["http.client.request.duration", "lastro.client.attempts", "lastro.client.call.duration"]
    #expect(Set(metrics.recorders.map(\.label)) == Set(labels))
    #expect(!metrics.recorders.contains { $0.dimensions.contains { $0.0 == "url.scheme" } })
  }

  @Test("A template is an attribute, known methods are configurable, and waits in the queue are recorded")
  func template() async throws {
    var options = RequestOptions()
    options.urlTemplate = "/{letter}"
    let observer = TelemetryObserver.metrics(factory: metrics, knownMethods: ["PURGE"])
    let facts = TransferFacts(timings: .init(queued: .milliseconds(500)))
    let transport = ScriptedTransport([.slow(clock, .zero, facts: facts), .respond(status: 200)])
    let stack = TransportNetworkStack.observed(transport, by: observer, clock: clock)
    for method in ["PURGE", "GET"] { _ = try await stack.fetch(.test(try #require(.init(method)), options: options)) }
    for method in ["PURGE", "_OTHER"] {
      var expected = Self.base + [("url.template", "/{letter}")]
      expected[0].1 = method
      #expect(values("lastro.client.queue.duration", expected) == (method == "PURGE" ? [0.5] : []))
      #expect(values("http.client.request.duration", expected + [("http.response.status_code", "200")]).count == 1)
    }
  }

  @Test("Requests refused locally or answered by a cache do not count; a cache's validation does")
  func notSent() async throws {
    func cached(_ detail: String, _ text: String) -> ScriptedTransport.Step {
      .reply(
        TransferResponse(
          head: HTTPResponse(status: .ok), body: ResponseBody(Data()),
          facts: TransferFacts(notes: [.init("cache", detail: detail, text: text)])))
    }
    let stack = stack(
      cached("hit", "Lastro; hit"), cached("stale_served", "Lastro; hit; ttl=-3"),
      cached("stale_served", "Lastro; fwd=stale"), cached("missed", "Lastro; fwd=uri-miss; stored"),
      cached("missed", "Lastro; fwd=uri-miss; stored; collapsed"), cached("bypassed", "Lastro"),
      .fail(TransportError(stage: .policy, code: .egressDenied, message: "no")))
    let sent = [false, false, true, true, false, false]
    for wasSent in sent { #expect(try await stack.fetch(.test()).response.attempts[0].requestSent == wasSent) }
    _ = try await stack.failure(of: .test())
    #expect(metrics.recorders(label: "http.client.request.duration").flatMap(\.values).count == 2)
    for (outcome, count) in [("hit", 1), ("stale_served", 2), ("missed", 2), ("bypassed", 1)] {
      let counters = metrics.counters.filter { counter in
        counter.label == "lastro.client.cache.lookups"
          && counter.dimensions.contains { $0 == ("lastro.cache.outcome", outcome) }
      }
      #expect(counters.flatMap(\.values).reduce(0, +) == count)
    }
    #expect(metrics.meters.allSatisfy { $0.lastValue == 0 })
  }
}
