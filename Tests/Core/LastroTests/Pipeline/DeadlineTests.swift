// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Deadlines", .timeLimit(.minutes(15)))
struct DeadlineTests {
  typealias Script = RetryLoopTests.Script

  static func timeouts(attempt: Int? = nil, total: Int?) throws -> Timeouts {
    try Timeouts(
      connect: nil, attempt: attempt.map { .seconds($0) }, idle: nil, total: total.map { .seconds($0) })
  }

  @Test("The transport gets the remaining time and the code of the earliest limit")
  func remaining() async throws {
    let time = ManualClock(autoAdvance: true)
    let transport = ScriptedTransport { (_, index) throws(TransportError) in
      time.advance(by: .seconds(6))
      return .answer(index < 2 ? 500 : 200)
    }
    let stack = TransportNetworkStack(
      transport, time: time.timeSource, timeouts: try Self.timeouts(attempt: 10, total: 20))
    _ = try await stack.fetch(.intercepted(by: Script(actions: [.retryAfter(.seconds(1)), .retryAfter(.seconds(1))])))
    #expect(transport.requests.map(\.deadline) == [.seconds(10), .seconds(10), .seconds(6)])
    #expect(transport.requests.map(\.deadlineCode) == [.attemptTimeout, .attemptTimeout, .totalTimeout])
  }

  @Test("Redirects count towards the attempt and the total")
  func redirects() async throws {
    let time = ManualClock(autoAdvance: true)
    let transport = ScriptedTransport { (_, index) throws(TransportError) in
      time.advance(by: .seconds(4))
      return .redirect(to: "/\(index)")
    }
    let stack = TransportNetworkStack(
      transport, time: time.timeSource, timeouts: try Self.timeouts(attempt: 10, total: 60))
    let error = try await stack.failure(of: .test())
    #expect(transport.requests.map(\.deadline) == [.seconds(10), .seconds(6), .seconds(2)])
    #expect(error.stage == .timeout && error.code == .attemptTimeout)
    #expect(error.attempts.first?.redirects.count == 3)
    #expect(error.attempts.first?.requestSent == true)
  }

  @Test("Time spent in a maker or an interceptor counts, and nothing is sent when it is used up")
  func hooksTakeTime() async throws {
    for hook in ["maker", "make", "scheduled"] {
      let time = ManualClock(autoAdvance: true)
      let take: @Sendable (String) -> Void = { if $0 == hook { time.advance(by: .seconds(21)) } }
      let hooks = Hooks(
        make: { result, _ in
          take("make")
          return result
        }, scheduled: { _, _ in take("scheduled") })
      let transport = ScriptedTransport(repeatingLast: .answer(200))
      let stack = TransportNetworkStack(transport, time: time.timeSource, timeouts: try Self.timeouts(total: 20))
      let resource = RawHTTPResource(
        baseRequestMaking: BaseRequestMaking {
          take("maker")
          return try .test()
        }, interceptors: [hooks])
      let error = try await stack.failure(of: resource)
      #expect(error.stage == .timeout && error.code == .totalTimeout)
      #expect(transport.requests.isEmpty)
    }
  }

  @Test("A wait that cannot end in time is not started, and the failure says so")
  func futileWait() async throws {
    let time = ManualClock(autoAdvance: true)
    let transport = ScriptedTransport(repeatingLast: .answer(503))
    let stack = TransportNetworkStack(transport, time: time.timeSource, timeouts: try Self.timeouts(total: 20))
    for delay in [Duration.seconds(20), .seconds(21), .seconds(1000)] {
      let error = try await stack.failure(of: .intercepted(by: Script(actions: [.retryAfter(delay)])))
      #expect(error.statusCode == .serviceUnavailable && error.stage == .http)
      #expect(error.retryEnd?.description.contains("deadline") == true)
    }
    #expect(time.sleeps.isEmpty && transport.requests.count == 3)
  }

  @Test("A wait that overshoots ends the call with the total timeout")
  func overshoot() async throws {
    let time = ManualClock(autoAdvance: true)
    let source = TimeSource(
      now: time.timeSource.now,
      sleep: { duration in time.advance(by: duration + .seconds(30)) },
      limit: time.timeSource.limit)
    let transport = ScriptedTransport(repeatingLast: .answer(503))
    let stack = TransportNetworkStack(transport, time: source, timeouts: try Self.timeouts(total: 20))
    let error = try await stack.failure(of: .intercepted(by: Script(actions: [.retryAfter(.seconds(1)), .retry])))
    #expect(error.code == .totalTimeout && transport.requests.count == 1)
    #expect(error.attempts.count == 2 && error.attempts[1].requestSent == false)
  }

  @Test("Without a total timeout there is no deadline")
  func unlimited() async throws {
    let time = ManualClock(autoAdvance: true)
    let transport = ScriptedTransport(repeatingLast: .answer(503), .answer(200))
    let stack = TransportNetworkStack(transport, time: time.timeSource, timeouts: try Self.timeouts(total: nil))
    _ = try await stack.fetch(.intercepted(by: Script(actions: [.retryAfter(.seconds(1_000_000))])))
    #expect(transport.requests.map(\.deadline) == [nil, nil])
  }

  @Test("Streams have their own timeouts")
  func streams() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let stack = TransportNetworkStack(transport) {
      $0.streamTimeouts = .streaming
      $0.timeouts = .standard
    }
    _ = try await stack.stream(.test())
    #expect(transport.requests.first?.deadline == nil)
  }

  @Test("A total from the request's own options, or an interceptor's, applies from the second attempt on")
  func ownTotal() async throws {
    for isIntercepted in [false, true] {
      let time = ManualClock(autoAdvance: true)
      var options = RequestOptions()
      options.timeouts = try Self.timeouts(total: 1000)
      let own = options
      let adapt = Hooks(make: { result, _ in
        result.map {
          var request = $0
          if isIntercepted { request.options = own }
          return request
        }
      })
      let transport = ScriptedTransport { (_, index) throws(TransportError) in
        time.advance(by: .seconds(100))
        return .answer(index < 2 ? 500 : 200)
      }
      let stack = TransportNetworkStack(transport, time: time.timeSource, timeouts: try Self.timeouts(total: 20))
      _ = try await stack.fetch(
        .test(
          options: isIntercepted ? RequestOptions() : own,
          interceptors: [adapt, Script(actions: [.retry, .retryAfter(.seconds(50))])]))
      #expect(transport.requests.map(\.deadline) == [.seconds(1000), .seconds(900), .seconds(750)])
    }
  }

  @Test("The total applies to an attempt whose request cannot be made")
  func ownTotalWithoutRequest() async throws {
    let calls = EventRecorder<Int>()
    let time = ManualClock(autoAdvance: true)
    let transport = ScriptedTransport(repeatingLast: .answer(500), .answer(200))
    let stack = TransportNetworkStack(transport, time: time.timeSource, timeouts: try Self.timeouts(total: 20))
    var options = RequestOptions()
    options.timeouts = try Self.timeouts(total: 1000)
    let own = options
    let making = BaseRequestMaking<ResourceRequest> {
      if calls.record(0) == 1 { throw TestError() }
      return try .test(options: own)
    }
    let script = Script(actions: [.retryAfter(.seconds(30)), .retryAfter(.seconds(30))])
    _ = try await stack.fetch(RawHTTPResource(baseRequestMaking: making, interceptors: [script]))
    #expect(time.sleeps == [.seconds(30), .seconds(30)])
  }
}
