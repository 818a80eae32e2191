// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Bearer authenticator: refreshes", .timeLimit(.minutes(15)))
struct BearerRefreshTests {
  let clock = ManualClock()
  let source = GatedSource()

  /// Starts calls that wait for the same refresh, and returns their tasks.
  func waiting(_ count: Int, for bearer: BearerAuthenticator) async throws -> [Task<String?, any Error>] {
    let tasks = (0..<count).map { _ in Task { try await bearer.field() } }
    try #require(await eventually { bearer.waiters == count })
    return tasks
  }

  func error(of task: Task<String?, any Error>) async throws -> any Error {
    switch await task.result {
    case .success(let field): throw TestFailure("it got \(field ?? "nothing")")
    case .failure(let error): return error
    }
  }

  @Test("Without a token the first request fetches one, and all concurrent requests share it")
  func first() async throws {
    let bearer = try BearerAuthenticator.test(source, clock: clock)
    #expect(bearer.token == nil)
    let tasks = try await waiting(50, for: bearer)
    try await source.waitForCall(1)
    source.answer(.success(try .test("t1")))
    for task in tasks { #expect(try await task.value == "Bearer t1") }
    #expect(try await bearer.field() == "Bearer t1")
    #expect(source.asked == [nil])
  }

  @Test("A cancelled request ends at once while the refresh hangs, which continues for the others")
  func cancelOne() async throws {
    let bearer = try BearerAuthenticator.test(source, clock: clock)
    let tasks = try await waiting(3, for: bearer)
    tasks[1].cancel()
    #expect(try await error(of: tasks[1]) is CancellationError)
    try await source.waitForCall(1)
    #expect(bearer.waiters == 2 && source.cancelled.isEmpty)
    source.answer(.success(try .test("t1")))
    #expect(try await tasks[0].value == "Bearer t1")
    #expect(try await tasks[2].value == "Bearer t1")
  }

  @Test("When all waiting requests are cancelled, the refresh continues, and its token serves the next one")
  func cancelAll() async throws {
    let bearer = try BearerAuthenticator.test(source, clock: clock)
    let tasks = try await waiting(3, for: bearer)
    for task in tasks { task.cancel() }
    for task in tasks { #expect(try await error(of: task) is CancellationError) }
    try await source.waitForCall(1)
    #expect(bearer.isRefreshing && source.cancelled.isEmpty)
    source.answer(.success(try .test("t1")))
    try #require(await eventually { !bearer.isRefreshing })
    #expect(try await bearer.field() == "Bearer t1")
    #expect(source.asked.count == 1)
  }

  @Test("A call that is cancelled while it waits after a 401 ends as cancelled, in the pipeline too")
  func cancelAfterRefusal() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"), clock: clock)
    let api = TokenAPI(accepts: "t2")
    var configuration = StackConfiguration()
    configuration.interceptors = [bearer]
    configuration.timeSource = clock.timeSource
    let stack = TransportNetworkStack(transport: api.transport, configuration: configuration)
    let task = Task { try await stack.failure(of: .test()) }
    try await source.waitForCall(1)
    task.cancel()
    #expect(try await task.value.isCancelled)
    #expect(bearer.isRefreshing && source.cancelled.isEmpty)
  }

  @Test("A call that times out while it waits ends with its own timeout, and the refresh continues")
  func deadline() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"), clock: clock)
    var configuration = StackConfiguration()
    configuration.interceptors = [bearer]
    configuration.timeSource = clock.countingSource
    configuration.timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: .seconds(20))
    let stack = TransportNetworkStack(transport: TokenAPI(accepts: "t2").transport, configuration: configuration)
    let task = Task { try await stack.failure(of: .test()) }
    try await source.waitForCall(1)
    // The sleepers are the limit of the refresh and that of the call.
    try await clock.waitForSleepers(count: 2)
    clock.advance(by: .seconds(20))
    let error = try await task.value
    #expect(error.statusCode == .unauthorized && error.retryEnd?.description.contains("deadline") == true)
    #expect(bearer.isRefreshing && bearer.waiters == 0 && source.cancelled.isEmpty)
    source.answer(.success(try .test("t2")))
    try #require(await eventually { !bearer.isRefreshing })
    _ = try await stack.fetch(.test())
  }

  @Test("Timeouts do not sleep on the clock: a clock that advances automatically does not jump to them")
  func autoAdvance() async throws {
    let clock = ManualClock(autoAdvance: true)
    let bearer = try BearerAuthenticator(
      source: source, origins: [try Origin("https://example.com")], timeSource: clock.timeSource)
    let tasks = try await waiting(1, for: bearer)
    try await source.waitForCall(1)
    try await clock.timeSource.sleep(.seconds(5))
    #expect(bearer.waiters == 1 && clock.sleeps == [.seconds(5)])
    source.answer(.success(try .test("t1")))
    #expect(try await tasks[0].value == "Bearer t1")
  }

  @Test("A task that was cancelled before starts no refresh")
  func cancelledBefore() async throws {
    let bearer = try BearerAuthenticator.test(source, clock: clock)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await bearer.field()
    }
    #expect(try await error(of: task) is CancellationError)
    #expect(!bearer.isRefreshing && source.asked.isEmpty)
  }

  @Test("A refresh that times out fails for all, even if its source ignores cancellation, and a late result is dropped")
  func timeout() async throws {
    let source = GatedSource(ignoresCancellation: true)
    let bearer = try BearerAuthenticator.test(source, clock: clock)
    let tasks = try await waiting(3, for: bearer)
    try await source.waitForCall(1)
    try await clock.waitForSleepers(count: 1)
    clock.advance(by: .milliseconds(29_999))
    #expect(bearer.waiters == 3)
    clock.advance(by: .milliseconds(1))
    for task in tasks {
      #expect(try await error(of: task) as? AccessTokenError == .refreshTimedOut(.seconds(30)))
    }
    #expect(source.cancelled == [0])
    clock.advance(by: TokenMachine.failurePause)
    let next = try await waiting(1, for: bearer)
    source.answer(.success(try .test("late")))
    try await source.waitForCall(2)
    #expect(bearer.waiters == 1)
    source.answer(.success(try .test("t2")))
    #expect(try await next[0].value == "Bearer t2")
  }

  @Test("A result ends the timeout, and no sleep is left")
  func timeoutEnds() async throws {
    let bearer = try BearerAuthenticator.test(source, clock: clock)
    let tasks = try await waiting(1, for: bearer)
    try await source.waitForCall(1)
    try await clock.waitForSleepers(count: 1)
    source.answer(.success(try .test("t1")))
    _ = try await tasks[0].value
    try #require(await eventually { clock.sleepers == 0 })
    clock.advance(by: .seconds(60))
    #expect(try await bearer.field() == "Bearer t1")
  }

  @Test("One refresh starts within the leeway before expiry, while requests use the token that is still valid")
  func ahead() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1", expiresIn: 100), clock: clock)
    clock.advance(by: .milliseconds(69_999))
    #expect(try await bearer.field() == "Bearer t1")
    #expect(source.asked.isEmpty)
    clock.advance(by: .milliseconds(1))
    for _ in 0..<10 { #expect(try await bearer.field() == "Bearer t1") }
    try await source.waitForCall(1)
    #expect(source.asked.map { $0?.value } == ["t1"] && source.asked.map { $0?.expiresIn } == [.seconds(30)])
    #expect(bearer.isRefreshing && bearer.waiters == 0)
    source.answer(.success(try .test("t2", expiresIn: 100)))
    try #require(await eventually { !bearer.isRefreshing })
    #expect(try await bearer.field() == "Bearer t2" && source.asked.count == 1)
  }

  @Test("An early refresh is awaited once the token is refused or has expired", arguments: [true, false])
  func aheadTurnsNeeded(isRefused: Bool) async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1", expiresIn: 100), clock: clock)
    clock.advance(by: .seconds(80))
    #expect(try await bearer.field() == "Bearer t1")
    try await source.waitForCall(1)
    let refused = isRefused ? Task { try await bearer.action(refused: "t1") } : nil
    if isRefused { try #require(await eventually { bearer.waiters == 1 }) } else { clock.advance(by: .seconds(20)) }
    let request = Task { try await bearer.field() }
    try #require(await eventually { bearer.waiters == (isRefused ? 2 : 1) })
    source.answer(.success(try .test("t2")))
    #expect(try await request.value == "Bearer t2" && source.asked.count == 1)
    if let refused { #expect(try await refused.value.word == "retry") }
  }

  @Test("Extremely large time limits do not trap with the system's clock")
  func longTimeout() async throws {
    let bearer = try BearerAuthenticator(
      source: source, origins: [try Origin("https://example.com")], leeway: .seconds(Int64.max),
      refreshTimeout: .seconds(Int64.max))
    let tasks = try await waiting(1, for: bearer)
    try await source.waitForCall(1)
    #expect(bearer.refreshTimeout == .seconds(1_000_000_000))
    source.answer(.success(try .test("t1")))
    #expect(try await tasks[0].value == "Bearer t1")
  }

  @Test("The lifetime of a token counts from the start of its refresh")
  func lifetime() async throws {
    let bearer = try BearerAuthenticator.test(source, clock: clock)
    let tasks = try await waiting(1, for: bearer)
    try await source.waitForCall(1)
    clock.advance(by: .seconds(10))
    source.answer(.success(try .test("t1", expiresIn: 100)))
    _ = try await tasks[0].value
    #expect(bearer.token?.expiresIn == .seconds(90))
    clock.advance(by: .seconds(500))
    #expect(bearer.token?.expiresIn == .zero)
  }

  @Test("A token that lives shorter than twice the leeway is used for half its life")
  func shortLife() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1", expiresIn: 10), clock: clock)
    clock.advance(by: .milliseconds(4_999))
    #expect(try await bearer.field() == "Bearer t1")
    clock.advance(by: .milliseconds(1))
    #expect(source.asked.isEmpty)
    #expect(try await bearer.field() == "Bearer t1")
    try await source.waitForCall(1)
    source.answer(.failure(TestError()))
  }

  @Test("A token without remaining lifetime serves the requests that waited for it, and is replaced for the next")
  func noLife() async throws {
    let count = EventRecorder<Int>()
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in try .test("t\(count.record(0))", expiresIn: 0) }, clock: clock)
    #expect(try await bearer.field() == "Bearer t0")
    #expect(try await bearer.field() == "Bearer t1")
  }

  @Test("An extremely long lifetime does not trap")
  func longLife() async throws {
    let token = try AccessToken("t1", expiresIn: .seconds(Int64.max))
    let bearer = try BearerAuthenticator.test(source, token: token, clock: clock, leeway: .seconds(Int64.max))
    #expect(try await bearer.field() == "Bearer t1")
  }

  @Test("When an early refresh fails, the old token is used, and a retry is due a tenth of the leeway later")
  func aheadFails() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1", expiresIn: 100), clock: clock)
    clock.advance(by: .seconds(70))
    #expect(try await bearer.field() == "Bearer t1")
    try await source.waitForCall(1)
    source.answer(.failure(TestError()))
    try #require(await eventually { !bearer.isRefreshing })
    clock.advance(by: .milliseconds(2_999))
    #expect(try await bearer.field() == "Bearer t1")
    #expect(source.asked.count == 1)
    clock.advance(by: .milliseconds(1))
    #expect(try await bearer.field() == "Bearer t1")
    try await source.waitForCall(2)
    clock.advance(by: .seconds(27))
    let expired = try await waiting(1, for: bearer)
    source.answer(.failure(TestError()))
    #expect(try await error(of: expired[0]) is TestError)
  }

  @Test("A failed refresh fails all waiting requests with the error of the source")
  func fails() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"), clock: clock)
    let tasks = (0..<20).map { _ in Task { try await bearer.action(refused: "t1") } }
    try #require(await eventually { bearer.waiters == 20 })
    try await source.waitForCall(1)
    source.answer(.failure(TestError(name: "down")))
    for task in tasks { #expect(try await task.value.word == "\(TestError(name: "down"))") }
    #expect(source.asked.count == 1 && bearer.token?.value == "t1")
  }

  @Test("While a refused token is refreshed, no request is sent with it; it is used again if the refresh fails")
  func requestsDuringRefresh() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"), clock: clock)
    for result in [.success(try .test("t2")), .failure(TestError())] as [Result<AccessToken, any Error>] {
      let token = try #require(bearer.token?.value.reveal())
      let refused = Task { try await bearer.action(refused: token) }
      try #require(await eventually { bearer.waiters == 1 })
      let request = Task { try await bearer.field() }
      try #require(await eventually { bearer.waiters == 2 })
      try await source.waitForCall(source.asked.count)
      source.answer(result)
      #expect(try await request.value == "Bearer t2")
      _ = try await refused.value
    }
    #expect(source.asked.map { $0?.value } == ["t1", "t2"])
  }

  @Test("Calls that began before a refresh failed do not refresh again; new ones do")
  func failsForOldCalls() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"), clock: clock)
    for call in [7, 5] as [UInt64] {
      _ = await bearer.interceptMakeRequest(.success(try .test()), context: AttemptContext(callID: call))
    }
    async let first = bearer.action(refused: "t1", call: 5)
    try await source.waitForCall(1)
    source.answer(.failure(TestError()))
    #expect(try await first.word == "\(TestError())")
    #expect(try await bearer.action(refused: "t1", call: 7).word == "\(TestError())")
    #expect(try await bearer.action(refused: "t1", call: 8).word == "\(TestError())", "within 1 s")
    #expect(source.asked.count == 1)
    clock.advance(by: TokenMachine.failurePause)
    #expect(try await bearer.action(refused: "t1", call: 7).word == "\(TestError())")
    async let next = bearer.action(refused: "t1", call: 8)
    try await source.waitForCall(2)
    source.answer(.success(try .test("t2")))
    #expect(try await next.word == "retry")
    #expect(try await bearer.action(refused: "t1", call: 7).word == "retry")
  }

  @Test("A policy that retries every failure does not repeat a failed refresh")
  func insistentPolicy() async throws {
    let count = EventRecorder<Int>()
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in
        count.record(0)
        throw TestError()
      }, clock: clock)
    let insistent = HTTPRetryPolicy.custom { _, state, _ in state.retryCount < 5 ? .retry : .none }
    var configuration = StackConfiguration()
    configuration.interceptors = [bearer, RetryInterceptor(policy: insistent, eligibility: .any)]
    configuration.timeSource = clock.timeSource
    let stack = TransportNetworkStack(transport: ScriptedTransport(), configuration: configuration)
    let error = try await stack.failure(of: .test())
    #expect(count.events.count == 1 && error.attempts.count == 6)
    guard case .noRequest(let cause) = error.reason else { throw error }
    #expect(cause is TestError)
    clock.advance(by: TokenMachine.failurePause)
    _ = try await stack.failure(of: .test())
    #expect(count.events.count == 2, "a new call tries again")
  }
}
