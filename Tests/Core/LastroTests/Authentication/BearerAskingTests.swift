// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Bearer authenticator: frequency of refreshes", .timeLimit(.minutes(15)))
struct BearerAskingTests {
  let clock = ManualClock()

  @Test(
    "A refresh waits until the source has returned from the previous one, but not indefinitely",
    arguments: [true, false])
  func oneAtATime(returns: Bool) async throws {
    let source = GatedSource(ignoresCancellation: true)
    let bearer = try BearerAuthenticator.test(source, token: .test("t0"), clock: clock)
    let first = Task { try await bearer.action(refused: "t0") }
    try await source.waitForCall(1)
    bearer.replace(with: nil)
    #expect(try await first.value.word == "retry" && source.cancelled == [0])
    let request = Task { try await bearer.field() }
    try #require(await eventually { bearer.waiters == 1 })
    #expect(bearer.isRefreshing && source.asked.count == 1)
    // The sleeper of the first limit may not be gone yet.
    try await clock.waitForSleepers(count: 1)
    try #require(await eventually { clock.sleepers == 1 })
    if returns {
      source.answer(.success(try .test("late")))
    } else {
      clock.advance(by: .seconds(30))
    }
    try #require(await eventually { source.asked.count == 2 && source.running == (returns ? 1 : 2) })
    if !returns {
      source.answer(.success(try .test("late")))
      try #require(await eventually { source.running == 1 })
    }
    try await source.waitForCall(2)
    #expect(bearer.isAsking && bearer.waiters == 1)
    source.answer(.success(try .test("t1")))
    #expect(try await request.value == "Bearer t1")
  }

  @Test("A delayed refresh still belongs to the call that requested it")
  func marksOfWaiting() async throws {
    let outer = Lock<BearerAuthenticator?>(nil)
    let inner = Lock<BearerAuthenticator?>(nil)
    let gate = GatedSource(ignoresCancellation: true)
    let count = EventRecorder<Int>()
    // The inner source refreshes through the outer authenticator, which in turn refreshes through this source.
    let innerSource = CustomAccessTokenSource { old in
      if count.record(0) == 0 { return try await gate.token(replacing: old) }
      let passed = try await outer.withLock { $0 }?.field()
      return try .test(passed == nil ? "inner" : "wrong")
    }
    let outerSource = CustomAccessTokenSource { _ in
      _ = try await inner.withLock { $0 }?.field()
      return try .test("outer")
    }
    let first = try BearerAuthenticator.test(innerSource, token: .test("t0"), clock: clock)
    let second = try BearerAuthenticator.test(outerSource, clock: clock)
    inner.withLock { $0 = first }
    outer.withLock { $0 = second }
    let refused = Task { try await first.action(refused: "t0") }
    try await gate.waitForCall(1)
    first.replace(with: nil)
    _ = try await refused.value
    let request = Task { try await second.field() }
    try #require(await eventually { first.waiters == 1 })
    gate.answer(.success(try .test("late")))
    #expect(try await request.value == "Bearer outer")
    #expect(try await first.field() == "Bearer inner")
    inner.withLock { $0 = nil }
    outer.withLock { $0 = nil }
  }

  @Test("When the source is down and there is no token, it is not called again within 1 s of a failure")
  func noStorm() async throws {
    let count = EventRecorder<Int>()
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in
        count.record(0)
        throw TestError(name: "down")
      }, clock: clock)
    for call in 1...50 as ClosedRange<UInt64> {
      let result = await bearer.interceptMakeRequest(.success(try .test()), context: AttemptContext(callID: call))
      #expect(throws: TestError(name: "down")) { try result.get() }
    }
    #expect(count.events.count == 1)
    clock.advance(by: .milliseconds(999))
    await #expect(throws: TestError.self) { try await bearer.field() }
    #expect(count.events.count == 1)
    clock.advance(by: .milliseconds(1))
    await #expect(throws: TestError.self) { try await bearer.field() }
    #expect(count.events.count == 2)
    bearer.replace(with: nil)
    await #expect(throws: TestError.self) { try await bearer.field() }
    #expect(count.events.count == 3, "replacing the token resets the window")
  }

  @Test("Refreshes beyond the sliding window are refused until it has moved on")
  func excessive() async throws {
    let count = EventRecorder<Int>()
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in try .test("t\(count.record(0) + 2)") }, token: .test("t1"), clock: clock,
      maximumRefreshes: 3)
    for index in 1...3 {
      #expect(try await bearer.action(refused: "t\(index)").word == "retry")
      clock.advance(by: .seconds(1))
    }
    let refusal = AccessTokenError.excessiveRefresh(3)
    #expect(try await bearer.action(refused: "t4").word == "\(refusal)")
    #expect(count.events.count == 3)
    bearer.replace(with: nil)
    await #expect(throws: refusal) { try await bearer.field() }
    clock.advance(by: .seconds(27))
    #expect(try await bearer.field() == "Bearer t5")
    await #expect(throws: refusal) {
      bearer.replace(with: nil)
      _ = try await bearer.field()
    }
  }

  @Test("When refreshes are excessive, a token that is still valid is used")
  func excessiveAhead() async throws {
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in throw TestError() }, token: .test("t1", expiresIn: 50), clock: clock,
      maximumRefreshes: 1, leeway: .seconds(25))
    clock.advance(by: .seconds(25))
    for _ in 0..<4 {
      #expect(try await bearer.field() == "Bearer t1")
      try #require(await eventually { !bearer.isRefreshing })
      clock.advance(by: .seconds(5))
    }
    clock.advance(by: .seconds(5))
    await #expect(throws: AccessTokenError.self) { try await bearer.field() }
  }

  @Test(
    "Network failures do not count towards the window; responses do",
    arguments: [
      (TransportError(stage: .connect, code: .connectFailed, message: "") as any Error, false),
      (HTTPFetchError<TestError>(.transport(TransportError(stage: .timeout, code: .idleTimeout, message: ""))), false),
      (OAuth2Error.fetch(.init(.badResponse(.init(stage: .response, code: .truncatedBody, message: "")))), false),
      (CancellationError(), false), (AccessTokenError.refreshTimedOut(.seconds(1)), false),
      (OAuth2Error.refused(.badRequest, error: "invalid_grant", description: nil), true),
      (OAuth2Error.fetch(.init(.http(.serviceUnavailable, nil))), true), (TestError(), true),
    ])
  func counting(error: any Error, counts: Bool) async throws {
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in throw error }, clock: clock,
      maximumRefreshes: 2)
    var errors: [any Error] = []
    for _ in 0..<20 {
      do { _ = try await bearer.field() } catch { errors.append(error) }
      clock.advance(by: TokenMachine.failurePause)
    }
    #expect(errors.filter { $0 is AccessTokenError }.count == (counts ? 18 : error is AccessTokenError ? 20 : 0))
    #expect(
      errors.filter { if case AccessTokenError.excessiveRefresh? = $0 as? AccessTokenError { true } else { false } }
        .count == (counts ? 18 : 0))
  }

  @Test("Without a window no number of refreshes is excessive")
  func noWindow() async throws {
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in throw TestError() }, clock: clock, maximumRefreshes: nil)
    for _ in 0..<20 {
      await #expect(throws: TestError.self) { try await bearer.field() }
      clock.advance(by: TokenMachine.failurePause)
    }
  }
}
