// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@Suite("Exchanges, whose statuses are values", .timeLimit(.minutes(15)))
struct ExchangeTests {
  private func retrying(_ count: Int) -> RetryInterceptor { RetryInterceptor(policy: .maxRetries(count)) }

  @Test(
    "Every status is a value, with its whole body",
    arguments: [200, 201, 300, 304, 400, 404, 500, 599], [false, true])
  func statuses(status: Int, streamed: Bool) async throws {
    let body = status == 304 ? "" : String(repeating: "x", count: 5000)
    let stack = TransportNetworkStack(ScriptedTransport([.answer(status, fields: [.eTag: "\"1\""], body: body)])) {
      $0.maximumErrorBodyBytes = 10
    }
    let answer = try await stack.exchange(.test(), streamed: streamed)
    #expect(answer.response.status.code == status)
    #expect(answer.response.headerFields[.eTag] == "\"1\"")
    if !streamed { #expect(answer.value.bytes?.count == body.utf8.count) }
    #expect(try await answer.value.collect(upTo: 5000) == Data(body.utf8))
    #expect(answer.response.facts.bodyCut == nil)
    #expect(answer.response.attempts.map(\.status?.code) == [status])
  }

  @Test("A body beyond the limit is refused, whatever the status, and a truncated one is a failure")
  func limits() async throws {
    for status in [200, 404] {
      let transport = ScriptedTransport { (_, _) throws(TransportError) in
        let chunks = ChunkSource([Data("12345".utf8), Data("67890".utf8)])
        return TransferResponse(
          head: HTTPResponse(status: .init(code: status)), body: ResponseBody(source: chunks))
      }
      let stack = TransportNetworkStack(transport) { $0.maximumBodyBytes = 9 }
      let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.exchange(.test()) }
      #expect(error?.words == "limit/body_too_large")
      let lost = TransportError(stage: .response, code: .receiveFailed, message: "lost", requestSent: true)
      let broken = TransportNetworkStack(
        ScriptedTransport([
          .reply(
            TransferResponse(
              head: HTTPResponse(status: .init(code: status)),
              body: ResponseBody(source: ChunkSource([Data("1".utf8)], failure: lost))))
        ]))
      let cut = await #expect(throws: HTTPFetchError<any Error>.self) { try await broken.exchange(.test()) }
      #expect(cut?.words == "response/receive_failed" && cut?.response?.status.code == status)
    }
  }

  @Test("A body in memory has the facts of its whole transfer, as with a fetch", arguments: [200, 404])
  func facts(status: Int) async throws {
    let note = TransferFacts.Note("paced", text: "waited")
    let transport = ScriptedTransport { (_, _) throws(TransportError) in
      TransferResponse(
        head: HTTPResponse(status: .init(code: status)), body: ResponseBody(source: ChunkSource([Data("abc".utf8)])),
        facts: TransferFacts(notes: [note]))
    }
    let told = Lock<[String]>([])
    let observer = TransferObserver { bytes, facts in
      told.withLock { $0.append("\(bytes?.count ?? -1) of \(facts.bytesReceived)") }
    }
    let stack = TransportNetworkStack(transport) { $0.observers = [observer] }
    let answer = try await stack.exchange(.test())
    #expect(answer.value.bytes == Data("abc".utf8))
    #expect(answer.response.facts == TransferFacts(bytesReceived: 77, notes: [note]))
    #expect(answer.response.attempts.last?.facts?.bytesReceived == 77)
    if status == 200 { #expect(try await stack.fetch(.get("https://example.com/")).response.facts.bytesReceived == 77) }
    #expect(told.withLock { Set($0) } == ["3 of 77"])
  }

  @Test("The body of a followed redirect is not read")
  func redirectBody() async throws {
    let body = ChunkSource([Data("too long".utf8)])
    let stack = TransportNetworkStack(
      ScriptedTransport([
        .reply(
          TransferResponse(
            head: HTTPResponse(status: .found, headerFields: [.location: "/b"]), body: ResponseBody(source: body))),
        .answer(200, body: "b"),
      ])
    ) { $0.maximumBodyBytes = 1 }
    #expect(try await stack.exchange(.test()).value.bytes == Data("b".utf8))
    #expect(body.finalFacts == nil)
  }

  @Test("Retries are those of a fetch, and the last response is the value", arguments: [false, true])
  func retried(streamed: Bool) async throws {
    for (statuses, status) in [([503, 503, 404], 404), ([503, 200], 200), ([503, 503, 503, 503], 503)] {
      let transport = ScriptedTransport(statuses.map { .answer($0, body: "\($0)") })
      let stack = TransportNetworkStack(transport, interceptors: [retrying(3)])
      let answer = try await stack.exchange(.test(), streamed: streamed)
      #expect(answer.response.status.code == status)
      #expect(try await answer.value.collect(upTo: 10) == Data("\(status)".utf8))
      #expect(answer.response.attempts.map(\.status?.code) == statuses)
      #expect((answer.response.ledger.retryEnd != nil) == (status == 503))
      try transport.verify()
    }
  }

  @Test("If a rule forbids a retry, the response is the value")
  func forbidden() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(503)), interceptors: [retrying(9)]) {
      $0.maximumAttempts = 2
    }
    let answer = try await stack.exchange(.test())
    #expect(answer.response.status == .serviceUnavailable && answer.response.attempts.count == 2)
    let late = TransportNetworkStack(
      ScriptedTransport([.answer(503, fields: [.retryAfter: "3600"])]), interceptors: [retrying(9)])
    #expect(try await late.exchange(.test()).response.status == .serviceUnavailable)
  }

  @Test("Bodies of responses that are retried are discarded, and the last one is kept")
  func givenUp() async throws {
    let sources = (0..<2).map { _ in ChunkSource([Data("a".utf8), Data("b".utf8)]) }
    let transport = ScriptedTransport(
      sources.map {
        .reply(TransferResponse(head: HTTPResponse(status: .serviceUnavailable), body: ResponseBody(source: $0)))
      })
    let stack = TransportNetworkStack(transport, interceptors: [retrying(1)])
    let answer = try await stack.exchange(.test(), streamed: true)
    await #expect(throws: TransportError.self) { try await sources[0].next() }
    #expect(try await answer.value.collect(upTo: 10) == Data("ab".utf8))
  }

  @Test(
    "Interceptors see each status outside 200–299 as a failure, with the body if it is in memory",
    arguments: [false, true])
  func hooks(streamed: Bool) async throws {
    let seen = Lock<[String]>([])
    let hooks = Hooks(
      succeeded: { _, response, _, _ in seen.withLock { $0.append("succeeded \(response.status.code)") } },
      failed: { failure in
        seen.withLock { $0.append("failed \(failure.response?.status.code ?? 0) \(failure.body?.count ?? -1)") }
        return .none
      })
    for status in [404, 200] {
      let stack = TransportNetworkStack(
        ScriptedTransport([
          .reply(
            TransferResponse(
              head: HTTPResponse(status: .init(code: status)),
              body: ResponseBody(source: ChunkSource([Data("abc".utf8)]))))
        ]), interceptors: [hooks])
      #expect(try await stack.exchange(.test(), streamed: streamed).response.status.code == status)
    }
    #expect(seen.withLock { $0 } == ["failed 404 \(streamed ? -1 : 3)", "succeeded 200"])
  }

  @Test("Redirects are followed as usual; if they are not, the response is the value")
  func redirects() async throws {
    let stack = TransportNetworkStack(ScriptedTransport([.redirect(to: "/b"), .answer(404, body: "b")]))
    let answer = try await stack.exchange(.test())
    #expect(answer.response.status == .notFound && answer.response.url == "https://example.com/b")
    var options = RequestOptions()
    options.redirects = .follow(limit: 0)
    let still = TransportNetworkStack(
      ScriptedTransport([.respond(status: .found, headers: [.location: "/b"], body: "a")]))
    let first = try await still.exchange(.test(options: options))
    #expect(first.response.status == .found && first.value.bytes == Data("a".utf8))
    let looping = TransportNetworkStack(ScriptedTransport(repeatingLast: .redirect(to: "/a")))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await looping.exchange(.test()) }
    #expect(error?.stage == .redirect)
  }

  @Test("A response to HEAD has no body, whatever was sent")
  func head() async throws {
    let stack = TransportNetworkStack(ScriptedTransport([.answer(404, body: "junk")]))
    #expect(try await stack.exchange(.test(.head)).value.bytes == Data())
  }

  @Test("A missing response is a failure, and so is cancellation, even with a response")
  func failures() async throws {
    let failing = TransportNetworkStack(ScriptedTransport([.fail(.connect, .connectFailed)]))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await failing.exchange(.test()) }
    #expect(error?.words == "connect/connect_failed")
    let source = ChunkSource([Data("a".utf8)])
    let gate = EventRecorder<String>()
    let waiting = Hooks(failed: { _ in
      gate.record("failed")
      try? await Task.sleep(for: .seconds(60))
      return .none
    })
    let stack = TransportNetworkStack(
      ScriptedTransport([
        .reply(TransferResponse(head: HTTPResponse(status: .notFound), body: ResponseBody(source: source)))
      ]),
      interceptors: [waiting])
    let task = Task { try await stack.exchange(.test(), streamed: true) }
    try await gate.waitForEvents(count: 1)
    task.cancel()
    let cancelled = await #expect(throws: HTTPFetchError<any Error>.self) { try await task.value }
    #expect(cancelled?.isCancelled == true)
    await #expect(throws: TransportError.self) { try await source.next() }
  }

  @Test("Observers see failed attempts and a successful call", arguments: [false, true])
  func observed(streamed: Bool) async throws {
    let observer = Observer()
    let stack = TransportNetworkStack(
      ScriptedTransport([.answer(503), .answer(404, body: "abc")]), interceptors: [retrying(1)]
    ) { $0.observers = [observer] }
    let answer = try await stack.exchange(.test(), streamed: streamed)
    _ = try await answer.value.collect(upTo: 10)
    let body = streamed ? ["body 3"] : []
    #expect(observer.events.withLock { $0 } == ["status 503", "status 404", "succeeded 404 of 2"] + body)
  }
}

private struct TransferObserver: FetchObserver {
  let told: @Sendable (_ body: Data?, _ facts: TransferFacts) -> Void

  func observe(_ event: FetchEvent) {
    if case .transferEnded(.success(let end)) = event.kind { told(end.body, end.response.facts) }
  }
}

private final class Observer: FetchObserver {
  let events = Lock<[String]>([])

  func observe(_ event: FetchEvent) {
    let text: String? =
      switch event.kind {
      case .attemptEnded(let attempt): "\(attempt.outcome) \(attempt.status?.code ?? 0)"
      case .callEnded(.success(let response)): "succeeded \(response.status.code) of \(response.attempts.count)"
      case .callEnded(.failure(let error)): "\(error.words)"
      case .bodyEnded(let bytes, _, _): "body \(bytes)"
      default: nil
      }
    if let text { events.withLock { $0.append(text) } }
  }
}
