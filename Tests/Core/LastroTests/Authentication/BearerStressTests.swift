// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Bearer authenticator: many concurrent calls", .serialized, .timeLimit(.minutes(15)))
struct BearerStressTests {
  /// An API whose tokens represent numbers. It accepts each token whose number is high enough.
  final class NumberedAPI: Sendable {
    let least: Lock<Int>
    let counts = Lock<[Int: Int]>([:])
    let transport: ScriptedTransport

    /// - Parameter gathering: the number of first requests that are answered together.
    init(least: Int, gathering: Int = 0) {
      let gathered = Gathering(gathering)
      let lock = Lock(least)
      self.least = lock
      let counts = counts
      transport = ScriptedTransport(handler: { (request) throws(TransportError) in
        let number = request.head.headerFields[.authorization].flatMap { Int($0.dropFirst("Bearer t".count)) }
        counts.withLock { $0[number ?? -1, default: 0] += 1 }
        await gathered.arrive()
        return .answer((number ?? -1) >= lock.withLock { $0 } ? 200 : 401, body: "{}")
      })
    }
  }

  static func stack(_ transport: any Transport, _ bearer: BearerAuthenticator) -> TransportNetworkStack {
    var configuration = StackConfiguration()
    configuration.interceptors = [bearer]
    configuration.timeSource = ManualClock().timeSource
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }

  @Test("1,000 calls that are all refused at first cause exactly one refresh, and each is resent once")
  func thousand() async throws {
    let api = NumberedAPI(least: 2, gathering: 1000)
    let source = GatedSource()
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"))
    let stack = Self.stack(api.transport, bearer)
    let calls = (0..<1000).map { _ in Task { try await stack.fetch(.test()).response.attempts.count } }
    try #require(await eventually { bearer.waiters == 1000 })
    source.answer(.success(try .test("t2")))
    for call in calls { #expect(try await call.value == 2) }
    #expect(source.asked.count == 1)
    #expect(api.counts.withLock { $0 } == [1: 1000, 2: 1000])
  }

  @Test("1,000 calls with an immediate refresh cause one refresh, though many responses arrive after it")
  func thousandUngated() async throws {
    let api = NumberedAPI(least: 2)
    let refreshes = EventRecorder<Int>()
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in try .test("t\(refreshes.record(0) + 2)") }, token: .test("t1"))
    let stack = Self.stack(api.transport, bearer)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<1000 { group.addTask { try await stack.fetch(.test()).response.attempts.count } }
      for try await attempts in group { #expect(attempts <= 2) }
    }
    #expect(refreshes.events.count == 1)
    let counts = api.counts.withLock { $0 }
    #expect(counts[2] == 1000 && (1...1000).contains(counts[1] ?? 0))
  }

  @Test("1,000 calls and a refresh that fails cause one refresh and one error for all, and none is resent")
  func thousandFailures() async throws {
    let api = NumberedAPI(least: 2)
    let source = GatedSource()
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"))
    let stack = Self.stack(api.transport, bearer)
    let calls = (0..<1000).map { _ in Task { try await stack.failure(of: .test()) } }
    try #require(await eventually { bearer.waiters == 1000 })
    source.answer(.failure(TestError(name: "down")))
    for call in calls {
      let error = try await call.value
      guard case .policy(.custom(let cause)) = error.retryEnd else { throw error }
      #expect(cause as? TestError == TestError(name: "down") && error.attempts.count == 1)
      #expect(error.statusCode == .unauthorized)
    }
    #expect(source.asked.count == 1 && api.counts.withLock { $0 } == [1: 1000])
  }

  @Test(
    "Under random cancellations and refusals each call ends once, and one refresh runs at a time", arguments: 0..<20)
  func randomCancellation(seed: UInt64) async throws {
    let random = RandomSource.seeded(seed)
    let api = NumberedAPI(least: 2)
    let running = Lock((now: 0, most: 0))
    let refreshes = EventRecorder<Int>()
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in
        running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        for _ in 0..<50 { await Task.yield() }
        running.withLock { $0.now -= 1 }
        return try .test("t\(refreshes.record(0) + 2)")
      }, token: .test("t1"), maximumRefreshes: nil)
    let stack = Self.stack(api.transport, bearer)
    let ends = EventRecorder<Int>()
    let resource = try RawHTTPResource.test()
    let calls = (0..<100).map { index in
      Task {
        let result: Result<Int, HTTPFetchError<any Error>>
        do throws(HTTPFetchError<any Error>) {
          result = .success(try await stack.fetch(resource).response.attempts.count)
        } catch { result = .failure(error) }
        ends.record(index)
        return result
      }
    }
    var cancelled: Set<Int> = []
    for step in 0..<100 {
      let index = Int(random.next() % 100)
      if random.unit() < 0.4 {
        calls[index].cancel()
        cancelled.insert(index)
      }
      if step == 50 { api.least.withLock { $0 = 3 } }
      if random.unit() < 0.5 { await Task.yield() }
    }
    for (index, call) in calls.enumerated() {
      switch await call.value {
      case .success(let attempts): #expect(attempts <= 2)
      // The call met both token changes, and had used up its only repetition.
      case .failure(let error):
        #expect(error.isCancelled ? cancelled.contains(index) : error.statusCode == .unauthorized)
        #expect(error.attempts.count <= 2)
      }
    }
    #expect(ends.events.sorted() == Array(0..<100))
    #expect(running.withLock { $0.most } <= 1 && refreshes.events.count <= 2)
  }
}

/// A barrier that holds arriving tasks until enough have arrived; later tasks pass.
private final class Gathering: Sendable {
  private let state: Lock<(missing: Int, waiters: [CheckedContinuation<Void, Never>])>

  init(_ count: Int) { state = Lock((count, [])) }

  func arrive() async {
    await withCheckedContinuation { continuation in
      let freed = state.withLock { state in
        state.waiters.append(continuation)
        state.missing -= 1
        guard state.missing <= 0 else { return [CheckedContinuation<Void, Never>]() }
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in freed { waiter.resume() }
    }
  }
}
