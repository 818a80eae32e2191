// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// A token source whose answers the test provides one by one.
final class GatedSource: AccessTokenSource {
  private struct State {
    var asked: [AccessToken?] = []
    var waiting: [Int: CheckedContinuation<AccessToken, any Error>] = [:]
    var cancelled: Set<Int> = []
    var running = 0
    var mostRunning = 0
    var forgotten = 0
  }

  private let state = Lock(State())
  /// Whether a cancelled task continues to wait for its answer.
  let ignoresCancellation: Bool

  init(ignoresCancellation: Bool = false) { self.ignoresCancellation = ignoresCancellation }

  /// The tokens to replace, one per call.
  var asked: [AccessToken?] { state.withLock { $0.asked } }
  var running: Int { state.withLock { $0.running } }
  var mostRunning: Int { state.withLock { $0.mostRunning } }
  var cancelled: Set<Int> { state.withLock { $0.cancelled } }

  func token(replacing old: AccessToken?) async throws -> AccessToken {
    let index = state.withLock { state in
      state.asked.append(old)
      state.running += 1
      state.mostRunning = max(state.mostRunning, state.running)
      return state.asked.count - 1
    }
    defer { state.withLock { $0.running -= 1 } }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if state.cancelled.contains(index), !ignoresCancellation { return true }
          state.waiting[index] = continuation
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        state.cancelled.insert(index)
        return ignoresCancellation ? nil : state.waiting.removeValue(forKey: index)
      }
      waiting?.resume(throwing: CancellationError())
    }
  }

  /// The number of calls of `forget()`.
  var forgotten: Int { state.withLock { $0.forgotten } }

  func forget() { state.withLock { $0.forgotten += 1 } }

  /// Answers the oldest call that waits.
  func answer(_ result: Result<AccessToken, any Error>) {
    let waiting = state.withLock { state in
      state.waiting.keys.min().flatMap { state.waiting.removeValue(forKey: $0) }
    }
    waiting?.resume(with: result)
  }

  /// Waits until `count` calls have been made and the last one waits for its answer.
  func waitForCall(_ count: Int) async throws {
    try #require(await eventually { self.state.withLock { $0.asked.count >= count && $0.waiting[count - 1] != nil } })
  }
}

/// An API that accepts one token and answers 401 to any other.
final class TokenAPI: Sendable {
  private let accepted: Lock<String>
  /// The `Authorization` fields of the requests, in order.
  let seen = EventRecorder<String?>()
  let transport: ScriptedTransport

  init(accepts token: String) {
    let accepted = Lock(token)
    let seen = seen
    self.accepted = accepted
    transport = ScriptedTransport(handler: { (request) throws(TransportError) in
      let field = request.head.headerFields[.authorization]
      seen.record(field)
      return .answer(field == "Bearer " + accepted.withLock { $0 } ? 200 : 401, body: "{}")
    })
  }

  func accept(_ token: String) { accepted.withLock { $0 = token } }
}

extension ManualClock {
  /// The clock's time source without its limit timers, so that limits count as sleepers. A test can thus wait until
  /// they are watched.
  var countingSource: TimeSource {
    let source = timeSource
    return TimeSource(now: source.now, sleep: source.sleep, sinceEpoch: source.sinceEpoch)
  }
}

extension AccessToken {
  static func test(
    _ value: String, expiresIn seconds: Int? = nil, refreshToken: Secret? = nil
  ) throws -> AccessToken {
    try AccessToken(Secret(value), expiresIn: seconds.map { .seconds($0) }, refreshToken: refreshToken)
  }
}

extension BearerAuthenticator {
  /// Returns an authenticator for https://example.com, on a clock that the test moves.
  static func test(
    _ source: some AccessTokenSource, token: AccessToken? = nil, clock: ManualClock = ManualClock(),
    maximumRefreshes: Int? = 5, leeway: Duration = .seconds(30)
  ) throws -> BearerAuthenticator {
    try BearerAuthenticator(
      source: source, origins: [try Origin("https://example.com")], token: token, leeway: leeway,
      maximumRefreshes: maximumRefreshes, timeSource: clock.countingSource)
  }

  var waiters: Int { state.withLock { $0.waiters.count } }
  /// Whether a call of the source has not returned yet.
  var isAsking: Bool { state.withLock { $0.machine.asking != nil } }
  var isRefreshing: Bool { state.withLock { $0.machine.flight != nil } }

  /// Returns the `Authorization` field of an authenticated request.
  func field(url: String = "https://example.com/a", fields: HTTPFields = [:]) async throws -> String? {
    try await authenticate(.test(url: url, fields: fields)).head.headerFields[.authorization]
  }

  /// Returns the authenticator's action after a 401.
  func action(
    refused token: String, call: UInt64 = 0, retryState: Retry.State = .empty, url: String = "https://example.com/a"
  ) async throws -> Retry.Action {
    let request = try ResourceRequest.test(url: url, fields: [.authorization: "Bearer \(token)"])
    let response = ResourceResponse(head: HTTPResponse(status: .unauthorized), url: url)
    let error = HTTPFetchError<any Error>(.http(.unauthorized, nil), response: response)
    return await interceptFailed(
      request, response: response, body: Data(), error: error,
      context: AttemptContext(callID: call, retryState: retryState, wasScheduled: true))
  }
}

extension Retry.Action {
  /// The action as text for comparisons: `none`, `retry`, `after`, or the error of a `noRetry(.custom)`.
  var word: String {
    switch self {
    case .none: "none"
    case .retry: "retry"
    case .retryAfter: "after"
    case .noRetry(.custom(let error)): "\(error)"
    case .noRetry(let error): "noRetry \(error)"
    }
  }
}
