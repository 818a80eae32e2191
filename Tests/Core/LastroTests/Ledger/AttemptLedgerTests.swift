// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Attempt ledger", .timeLimit(.minutes(15)))
struct AttemptLedgerTests {
  static func eventfulCall() async throws -> (ledger: AttemptLedger, error: HTTPFetchError<any Error>) {
    let time = ManualClock(autoAdvance: true)
    let facts = TransferFacts(
      httpVersion: "2", remoteAddress: "::1", remotePort: 443, connectionID: 40_123, connectionReused: true, resends: 1,
      trust: .validated, timings: .init(firstByte: .milliseconds(80), total: .milliseconds(120)))
    let transport = ScriptedTransport { (_, index) throws(TransportError) in
      time.advance(by: .milliseconds(120))
      switch index {
      case 0: throw TransportError(stage: .connect, code: .connectFailed, message: "refused by 127.0.0.1")
      case 1:
        return TransferResponse(
          head: HTTPResponse(status: .tooManyRequests, headerFields: [.retryAfter: "3"]), body: ResponseBody(Data()),
          facts: facts)
      default: return .answer(500)
      }
    }
    let stack = TransportNetworkStack(transport, time: time.timeSource) {
      $0.randomSource = RandomSource { 0 }
      $0.retryQuota = .standard()
    }
    var options = RequestOptions()
    options.operation = "createPayment"
    options.idempotency = .key("key-1")
    let policy = HTTPRetryPolicy.backoff(.constant(delay: .milliseconds(500), until: .maxRetries(2)))
    let request = try ResourceRequest(method: .post, url: "https://api.example/pay?token=hush")
    let error = try await stack.failure(
      of: RawHTTPResource.raw(request, interceptors: [RetryInterceptor(policy: policy)], options: options))
    return (error.ledger, error)
  }

  @Test("Every attempt lists cause, whether it was sent, delay and reason, quota, times, connection and trust")
  func account() async throws {
    let (ledger, error) = try await Self.eventfulCall()
    #expect(ledger.attempts.map(\.number) == [1, 2, 3])
    #expect(ledger.attempts.map(\.requestSent) == [false, true, true])
    #expect(ledger.attempts.map(\.delay) == [.zero, .milliseconds(500), .seconds(3)])
    #expect(ledger.attempts.map(\.delaySource) == [.none, .policy, .retryAfter])
    #expect(ledger.attempts.map(\.reason) == ["first", "connect/connect_failed", "status 429"])
    #expect(ledger.attempts.map(\.quotaLeft) == [nil, 486, 481])
    #expect(ledger.attempts.map(\.start) == [.zero, .milliseconds(620), .milliseconds(3740)])
    #expect(ledger.attempts.map(\.duration) == Array(repeating: .milliseconds(120), count: 3))
    #expect(ledger.attempts[1].facts?.trust == .validated)
    #expect(ledger.elapsed == .milliseconds(3860) && ledger.totalDelay == .milliseconds(3500))
    #expect(ledger.limit == .seconds(60) && ledger.idempotencyKey == "key-1" && ledger.operation == "createPayment")
    #expect(ledger.request == "POST https://api.example/pay?token=***")
    #expect(error.response?.ledger.attempts.count == 3)
  }

  @Test("The text page contains everything, without secrets")
  func text() async throws {
    let (ledger, error) = try await Self.eventfulCall()
    let page = ledger.description
    for part in [
      "POST https://api.example/pay?token=*** [createPayment]", "3 attempts in 3.86 s of 60 s, 3.5 s of it waiting",
      "Idempotency-Key: key-1", "#1 at 0 ms, 120 ms: failed, connect/connect_failed: refused by 127.0.0.1",
      "nothing sent", "#2 at 620 ms", "after waiting 500 ms, because of connect/connect_failed, quota left 486",
      "connection reused from port 40123 to [::1]:443 HTTP/2 trust validated 1 resends by the engine first byte 80 ms",
      "after waiting 3 s (Retry-After), because of status 429",
    ] { #expect(page.contains(part), "\(part)\nin\n\(page)") }
    #expect(!page.contains("hush"))
    #expect(error.debugDescription.contains("#2 at 620 ms"))
  }

  @Test("JSON has the same keys for every attempt")
  func json() async throws {
    let (ledger, _) = try await Self.eventfulCall()
    let object = try #require(try JSONSerialization.jsonObject(with: Data(ledger.json().utf8)) as? [String: Any])
    #expect(
      Set(object.keys) == [
        "call", "request", "operation", "idempotency_key", "limit_s", "elapsed_s", "attempts", "retry_end",
      ])
    let attempts = try #require(object["attempts"] as? [[String: Any]])
    #expect(Set(attempts.map { Set($0.keys) }).count == 1)
    #expect(attempts[0]["status"] is NSNull && attempts[1]["status"] as? Int == 429)
    #expect((attempts[0]["cause"] as? [String: String])?["code"] == "connect_failed")
    #expect(attempts[1]["quota_left"] as? Int == 486 && attempts[2]["delay_source"] as? String == "retry_after")
    #expect((attempts[1]["connection"] as? [String: Any])?["trust"] as? String == "validated")
    #expect((attempts[1]["timings"] as? [String: Any])?["first_byte_s"] as? Double == 0.08)
    #expect(!ledger.json().contains("hush"))
  }

  @Test("JSON has times to the microsecond, without rounding residue")
  func times() throws {
    var timings = TransferFacts.Timings(total: .microseconds(2_247))
    timings.queued = .nanoseconds(247_000)
    timings.firstByte = .nanoseconds(1_000_499)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let text = String(decoding: try encoder.encode(timings.record), as: UTF8.self)
    #expect(text == #"{"first_byte_s":0.001,"queued_s":0.000247,"total_s":0.002247}"#)
    #expect(Duration.seconds(Int64.max).inRoundedSeconds == 9.223372036854776e18)
  }

  @Test("A success has a ledger too")
  func success() async throws {
    let value = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(503), .answer(200))).fetch(
      .test(.get, interceptors: [RetryInterceptor(policy: .maxRetries(1))]))
    #expect(value.response.ledger.attempts.map(\.outcome) == [.status, .succeeded])
    #expect(value.response.ledger.request == "GET https://example.com/a")
    #expect(value.response.ledger.attempts[1].requestSent)
  }

  @Test("The ledger says why there was no retry: Retry-After over the limit or the deadline, or an empty quota")
  func refusals() async throws {
    let retry = RetryInterceptor(policy: .maxRetries(5))
    for (wait, word) in [("61", "maximumRetryAfter"), ("45", "total deadline")] {
      let transport = ScriptedTransport(repeatingLast: .answer(503, fields: [.retryAfter: wait]))
      let stack = TransportNetworkStack(
        transport, timeouts: try Timeouts(connect: nil, attempt: nil, idle: nil, total: .seconds(30)))
      let error = try await stack.failure(of: .test(.get, interceptors: [retry]))
      #expect(error.ledger.retryEnd?.description.contains(word) == true)
      #expect(error.ledger.retryEnd?.description.contains(wait) == true)
      #expect(transport.requests.count == 1 && error.statusCode == .serviceUnavailable)
    }
    let quota = try RetryQuota(capacity: 30)
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500))) { $0.retryQuota = quota }
    let error = try await stack.failure(of: .test(.get, interceptors: [retry]))
    #expect(error.attempts.count == 3 && error.ledger.retryEnd?.code == "quota")
    #expect(error.description.contains("retryQuota"))
  }
}
