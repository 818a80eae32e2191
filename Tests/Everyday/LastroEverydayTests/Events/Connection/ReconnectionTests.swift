// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting
import TestSupport
import Testing

@Suite("Reconnection of event streams", .timeLimit(.minutes(15)))
struct ReconnectionTests {
  /// Reads a stream to its end, on a clock that advances automatically.
  private func run(
    _ steps: [ScriptedTransport.Step], method: HTTPRequest.Method = .get, _ options: EventStreamOptions = .init(),
    fields: HTTPFields = [:], configure: (inout StackConfiguration) -> Void = { _ in }
  ) async throws -> (data: [String], waits: [Duration], transport: ScriptedTransport) {
    let transport = ScriptedTransport(steps)
    let clock = ManualClock(autoAdvance: true)
    let stack = eventStack(transport, clock: clock, configure: configure)
    let data = await stack.events(try .test(method, fields: fields), options: options).data()
    try transport.verify()
    return (data, clock.sleeps, transport)
  }

  private func options(maximumReconnections: Int?) -> EventStreamOptions {
    var options = EventStreamOptions()
    options.maximumReconnections = maximumReconnections
    return options
  }

  // The first delay: 3 s, plus half of the random addition of up to 3 s.
  private static let first = Duration.milliseconds(4_500)

  @Test("After a clean end, a loss or a failed connection the last event ID is sent, and events continue")
  func identifiers() async throws {
    let (data, waits, transport) = try await run([
      .events("data: 0\n\n"), .events("id: 1\ndata: 1\n\n"), .lost("data: 2\n\nid: 3\n\nid: 4\ndata: cut"),
      .fail(.connect, .connectFailed), .events("id\ndata: 5\n\n"), .answer(204),
    ])
    #expect(data == ["0", "1", "2", "5"])
    #expect(transport.requests.map(\.lastEventID) == [nil, nil, "1", "3", "3", nil])
    #expect(waits == [Self.first, Self.first, Self.first, .milliseconds(7_500), Self.first])
  }

  @Test("The first connection sends the caller's last event ID")
  func givenIdentifier() async throws {
    var options = EventStreamOptions()
    options.lastEventID = "é 7"
    let (data, _, transport) = try await run([.events("data: a\n\n"), .answer(204)], options)
    #expect(data == ["a"])
    #expect(transport.requests.map(\.lastEventID) == ["é 7", "é 7"])
  }

  @Test("An ID that no field can carry is not sent")
  func unsendableIdentifier() async throws {
    let (data, _, transport) = try await run([.events("id: a\u{1}b\ndata: a\n\n"), .answer(204)])
    #expect(data == ["a"])
    #expect(transport.requests.map(\.lastEventID) == [nil, nil])
  }

  @Test("Waits grow with consecutive losses without an event, by up to 30 s")
  func growingWaits() async throws {
    let (_, waits, _) = try await run(
      Array(repeating: .fail(.connect, .connectFailed), count: 6) + [.answer(204)])
    #expect(waits == [4.5, 7.5, 13.5, 18, 18, 18].map { .seconds($0) })
  }

  @Test("An event resets the count of losses; a response or comments alone do not")
  func countBeginsAnew() async throws {
    let (_, waits, _) = try await run([
      .fail(.connect, .connectFailed), .events(": hello\n\n"), .lost("retry\n\n"), .events("data: a\n\n"),
      .fail(.connect, .connectFailed), .answer(204),
    ])
    #expect(waits == [4.5, 7.5, 13.5, 4.5, 7.5].map { .seconds($0) })
  }

  @Test(
    "The server sets the wait, with digits only, from 100 ms to 5 minutes",
    arguments: [
      ("retry: 1000", [1.5, 2.5]), ("retry:20000\nretry: 1x", [30, 35]), ("retry: 1x", [4.5, 7.5]),
      ("retry: 300000", [315, 315]), ("retry: 99999999999999999999", [315, 315]),
      ("retry: 0", [0.15, 1.6]), ("retry: 99", [0.15, 1.6]), ("retry: 101", [0.1515, 1.601]),
    ])
  func setWait(line: String, waits: [Double]) async throws {
    let steps: [ScriptedTransport.Step] = [
      .events("data: a\n\n\(line)\n"), .fail(.connect, .connectFailed), .answer(204),
    ]
    #expect(try await run(steps).waits == waits.map { .microseconds(Int(($0 * 1_000_000).rounded())) })
  }

  @Test(
    "Statuses of overload count as losses, and Retry-After is respected", arguments: [429, 500, 502, 503])
  func distress(status: Int) async throws {
    let (data, waits, _) = try await run([
      .answer(status), .answer(status, fields: [.retryAfter: "20"]), .answer(status, fields: [.retryAfter: "1"]),
      .events("data: a\n\n"), .answer(204),
    ])
    #expect(data == ["a"])
    #expect(waits == [4.5, 20, 13.5, 4.5].map { .seconds($0) })
  }

  @Test("A wait longer than the stack allows a server to request ends the stream")
  func longRetryAfter() async throws {
    let (data, waits, _) = try await run([.answer(503, fields: [.retryAfter: "61"])])
    #expect(data == ["http/unexpected_status"])
    #expect(waits.isEmpty)
  }

  @Test(
    "More consecutive failures than allowed end the stream with the last one",
    arguments: [(2, 3), (0, 1), (nil, 21)] as [(Int?, Int)])
  func failures(maximum: Int?, requests: Int) async throws {
    let steps =
      Array(repeating: ScriptedTransport.Step.fail(.connect, .connectFailed), count: requests - 1)
      + [.fail(.resolve, .hostNotFound)]
    let (data, waits, _) = try await run(steps, options(maximumReconnections: maximum))
    #expect(data == ["resolve/host_not_found"])
    #expect(waits.count == requests - 1)
  }

  @Test("Responses that end without an event are failures too and reported as such")
  func emptyAnswers() async throws {
    let steps = Array(repeating: ScriptedTransport.Step.events(": nothing\n\n"), count: 3)
    #expect(try await run(steps, options(maximumReconnections: 2)).data == ["response/connection_lost"])
  }

  @Test("Without a limit the stream reconnects indefinitely")
  func unlimited() async throws {
    let steps = Array(repeating: ScriptedTransport.Step.fail(.connect, .connectFailed), count: 100)
    #expect(try await run(steps + [.answer(204)], options(maximumReconnections: .max)).waits.count == 100)
  }

  @Test(
    "By default only a GET is reconnected, and a POST is sent once",
    arguments: ["POST", "PUT", "DELETE", "PATCH", "QUERY"])
  func otherMethods(name: String) async throws {
    let method = try #require(HTTPRequest.Method(name))
    #expect(try await run([.events("data: a\n\n")], method: method).data == ["a"])
    #expect(try await run([.lost("data: a\n\n")], method: method).data == ["a", "response/connection_lost"])
    #expect(try await run([.answer(503)], method: method).data == ["http/unexpected_status"])
    #expect(try await run([.fail(.connect, .connectFailed)], method: method).data == ["connect/connect_failed"])
    // The stream is not resumed even if the request may be retried: its events may have been paid for.
    #expect(
      try await run([.events("data: a\n\n")], method: method, fields: [.idempotencyKey: "k"]).data == ["a"])
  }

  @Test("A POST is reconnected if configured")
  func toldToRepeat() async throws {
    let (data, _, transport) = try await run(
      [.lost("id: 1\ndata: a\n\n"), .events("data: b\n\n"), .answer(204)], method: .post,
      options(maximumReconnections: 3))
    #expect(data == ["a", "b"])
    #expect(transport.requests.map(\.head.method) == [.post, .post, .post])
    #expect(transport.requests.map(\.lastEventID) == [nil, "1", "1"])
  }

  @Test("A GET is not reconnected if configured")
  func toldNotToRepeat() async throws {
    let never = options(maximumReconnections: 0)
    #expect(try await run([.events("data: a\n\n")], never).data == ["a"])
    #expect(try await run([.lost("data: a\n\n")], never).data == ["a", "response/connection_lost"])
  }

  @Test(
    "Failures that may be temporary are losses",
    arguments: [
      (.resolve, "host_not_found"), (.connect, "connect_failed"), (.timeout, "connect_timeout"),
      (.timeout, "idle_timeout"), (.timeout, "first_event_timeout"), (.timeout, "attempt_timeout"),
      (.tls, "handshake_failed"),
      (.response, "truncated_body"), (.response, "http2_failure"), (.response, "receive_failed"),
      (.send, "send_failed"), (.policy, "circuit_open"), (.proxy, "proxy_connect_failed"),
    ] as [(FailureStage, String)])
  func passing(stage: FailureStage, code: String) async throws {
    let failure = TransportError(stage: stage, code: FailureCode(code), message: "scripted", requestSent: true)
    let (data, _, transport) = try await run([
      .fail(failure), .events("data: a\n\n", failure: failure), .events("data: b\n\n"), .answer(204),
    ])
    #expect(data == ["a", "b"])
    #expect(transport.requests.count == 4)
  }

  @Test(
    "Permanent failures end the stream",
    arguments: [
      (.trust, "pin_mismatch"), (.tls, "untrusted_certificate"), (.timeout, "total_timeout"),
      (.response, "malformed_response"), (.limit, "head_too_large"), (.policy, "egress_denied"),
      (.request, "invalid_option"), (.cancelled, "shut_down"), (.proxy, "proxy_refused"),
      (.response, "bad_content_encoding"),
    ] as [(FailureStage, String)])
  func lasting(stage: FailureStage, code: String) async throws {
    let failure = TransportError(stage: stage, code: FailureCode(code), message: "scripted", requestSent: true)
    #expect(try await run([.fail(failure)]).data.first?.hasPrefix(stage.rawValue) == true)
    let inBody = try await run([.events("data: a\n\n", failure: failure)]).data
    #expect(inBody.count == 2)
    #expect(inBody.last?.hasPrefix(stage.rawValue) == true)
  }

  @Test("Each connection starts at the original URL, whatever redirects the last one followed")
  func redirects() async throws {
    let (data, _, transport) = try await run([
      .redirect(307, to: "https://example.com/elsewhere"), .lost("id: 1\ndata: a\n\n"), .events("data: b\n\n"),
      .answer(204),
    ])
    #expect(data == ["a", "b"])
    #expect(transport.requests.map(\.head.path) == ["/a", "/elsewhere", "/a", "/a"])
    #expect(transport.requests.map(\.lastEventID) == [nil, nil, "1", "1"])
  }

  @Test("The request is made again for each connection")
  func madeAnew() async throws {
    let numbers = EventRecorder<Int>()
    let transport = ScriptedTransport([.events("data: a\n\n"), .events("data: b\n\n"), .answer(204)])
    let resource = RawHTTPResource(
      baseRequestMaking: BaseRequestMaking {
        numbers.record(1)
        return try ResourceRequest(url: "https://example.com/\(numbers.events.count)")
      })
    #expect(await eventStack(transport).events(resource).data() == ["a", "b"])
    #expect(transport.requests.map(\.head.path) == ["/1", "/2", "/3"])
  }

  @Test("A request that cannot be made ends the stream")
  func unmadeRequest() async throws {
    let resource = RawHTTPResource(baseRequestMaking: BaseRequestMaking { throw TestError() })
    let transport = ScriptedTransport()
    #expect(await eventStack(transport).events(resource).data() == ["request/request_making_failed"])
  }
}
