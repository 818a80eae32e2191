// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Cancellation", .timeLimit(.minutes(15)))
struct CancellationTests {
  typealias Script = RetryLoopTests.Script

  /// Runs a fetch, cancels it once it has arrived in the room, and returns its error.
  fileprivate static func cancelled<M, E>(
    in room: WaitingRoom, _ stack: TransportNetworkStack, _ resource: HTTPResource<M, E>
  ) async throws -> HTTPFetchError<E> {
    let task = Task { try await stack.failure(of: resource) }
    try await room.waitForArrival()
    task.cancel()
    return try await task.value
  }

  static func expectCancelled<E>(_ error: HTTPFetchError<E>, attempts: Int = 1) {
    #expect(error.isCancelled && error.stage == .cancelled && error.code == .cancelled)
    guard case .cancelled = error.reason else {
      Issue.record("\(error)")
      return
    }
    #expect(error.attempts.count == attempts)
  }

  @Test("A fetch that is cancelled before it begins makes and sends nothing")
  func before() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let made = EventRecorder<Int>()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await TransportNetworkStack(transport).failure(
        of: RawHTTPResource(
          baseRequestMaking: BaseRequestMaking {
            made.record(0)
            return try .test()
          }))
    }
    Self.expectCancelled(try await task.value)
    #expect(transport.requests.isEmpty && made.events.isEmpty)
  }

  @Test("A fetch is cancelled while the base request is made, whatever the maker then does", arguments: [true, false])
  func maker(throwsElse: Bool) async throws {
    let room = WaitingRoom()
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let resource = RawHTTPResource(
      baseRequestMaking: BaseRequestMaking {
        await room.waitForCancellation()
        if throwsElse { throw TestError() }
        return try .test()
      })
    Self.expectCancelled(try await Self.cancelled(in: room, TransportNetworkStack(transport), resource))
    #expect(transport.requests.isEmpty)
  }

  @Test(
    "A fetch is cancelled within any hook: make, scheduled, succeeded, failed",
    arguments: ["make", "scheduled", "succeeded", "failed"])
  func hooks(stage: String) async throws {
    let room = WaitingRoom()
    let pause: @Sendable (String) async -> Void = { if $0 == stage { await room.waitForCancellation() } }
    let hooks = Hooks(
      make: { result, _ in
        await pause("make")
        return result
      },
      scheduled: { _, _ in await pause("scheduled") },
      succeeded: { _, _, _, _ in await pause("succeeded") },
      failed: { _ in
        await pause("failed")
        return .noRetry(.custom(TestError()))
      })
    let transport = ScriptedTransport(repeatingLast: .answer(stage == "failed" ? 500 : 200))
    let error = try await Self.cancelled(
      in: room, TransportNetworkStack(transport), RawHTTPResource.intercepted(by: hooks))
    Self.expectCancelled(error)
    #expect(transport.requests.count == (["make", "scheduled"].contains(stage) ? 0 : 1))
  }

  @Test(
    "Cancelling a fetch cancels its transport, however transport, decoder or interceptor react",
    .parity("ST07", "OL10"))
  func inFlight() async throws {
    for answer in [
      Result<TransferResponse, TransportError>.failure(.cancelled()),
      .failure(TransportError(stage: .response, code: .connectionLost, message: "scripted", requestSent: true)),
      .success(.answer(200, body: "{}")), .success(.answer(500, body: "{}")),
    ] {
      for action in [Retry.Action.none, .retry, .retryAfter(.seconds(1)), .noRetry(.retries(1))] {
        let room = WaitingRoom()
        let transport = ScriptedTransport { _ throws(TransportError) in
          await room.waitForCancellation()
          return try answer.get()
        }
        let script = Script(actions: [action])
        let error = try await Self.cancelled(
          in: room, TransportNetworkStack(transport), PipelineTests.typed(interceptors: [script]))
        Self.expectCancelled(error)
        #expect(transport.requests.count == 1)
        #expect(script.seen.events.count == 1 && script.seen.events.first?.error.isCancelled == true)
        #expect(error.attempts.first?.outcome == .cancelled)
      }
    }
  }

  @Test(
    "A fetch can be cancelled within the rule that asks for a retry", .parity("ST22", "ST23"),
    arguments: [Retry.Action.retry, .retryAfter(.seconds(1)), .noRetry(.retries(3))])
  func inRule(action: Retry.Action) async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(500))
    let time = ManualClock(autoAdvance: true)
    let policy = HTTPRetryPolicy.custom { _, _, _ in
      withUnsafeCurrentTask { $0?.cancel() }
      return action
    }
    let task = Task {
      try await TransportNetworkStack(transport, time: time.timeSource).failure(of: .intercepted(by: policy))
    }
    Self.expectCancelled(try await task.value)
    #expect(transport.requests.count == 1 && time.sleeps.isEmpty)
  }

  @Test(
    "A fetch that is cancelled before a retry has one failure and the cancelled error, and sends nothing more",
    .parity("OL01"))
  func whileWaiting() async throws {
    let room = WaitingRoom()
    let waits = EventRecorder<Duration>()
    let time = TimeSource(
      now: { .zero },
      sleep: {
        waits.record($0)
        await room.waitForCancellation()
        try Task.checkCancellation()
      },
      limit: ManualClock(autoAdvance: true).timeSource.limit)
    let transport = ScriptedTransport(repeatingLast: .answer(503))
    let stack = TransportNetworkStack(transport, time: time)
    let error = try await Self.cancelled(
      in: room, stack, RawHTTPResource.intercepted(by: Script(actions: [.retryAfter(.seconds(5))])))
    Self.expectCancelled(error)
    #expect(error.attempts.first?.status == .serviceUnavailable)
    #expect(transport.requests.count == 1 && waits.events == [.seconds(5)])
  }

  @Test("A fetch is cancelled while decoding, whether that then succeeds or not", arguments: [true, false])
  func decoding(succeeds: Bool) async throws {
    let resource = HTTPResource<Int, APIFailure>(
      baseRequestMaking: .request(try .test()),
      decoding: ModelDecoding { _, _ in
        withUnsafeCurrentTask { $0?.cancel() }
        if succeeds { return 1 }
        throw TestError()
      }, errorDecoding: .json())
    let task = Task {
      try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200))).failure(of: resource)
    }
    Self.expectCancelled(try await task.value)
  }

  @Test("A fetch is cancelled between redirects")
  func redirects() async throws {
    let callers = EventRecorder<Task<HTTPFetchError<any Error>, any Error>>()
    let transport = ScriptedTransport { (_, index) throws(TransportError) in
      try? await callers.waitForEvents(count: 1).first?.cancel()
      return .redirect(to: "/\(index)")
    }
    let task = Task { try await TransportNetworkStack(transport).failure(of: .test()) }
    callers.record(task)
    Self.expectCancelled(try await task.value)
    #expect(transport.requests.count == 1)
  }

  @Test("A stack that was shut down throws the cancelled error with its own code")
  func shutDown() async throws {
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .fail(.cancelled, .shutDown)))
      .failure(of: .intercepted(by: Script(actions: [.retry])))
    #expect(error.isCancelled && error.stage == .cancelled && error.code == .shutDown)
  }

  @Test("A CancellationError thrown without cancellation is its thrower's failure, not the caller's")
  func foreignCancellation() async throws {
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200))).failure(
      of: RawHTTPResource(baseRequestMaking: BaseRequestMaking { throw CancellationError() }))
    guard case .noRequest(let cause) = error.reason else { throw error }
    #expect(cause is CancellationError)
  }

  @Test("In callback form the handle cancels, and the completion is called once with the cancelled error")
  func callbacks() async throws {
    let room = WaitingRoom()
    let stack = TransportNetworkStack(
      ScriptedTransport { _ throws(TransportError) in
        await room.waitForCancellation()
        throw .cancelled()
      })
    let (completions, completion) = AsyncStream<HTTPFetchError<APIFailure>?>.makeStream()
    let handle = stack.fetch(try PipelineTests.typed()) { result in
      if case .failure(let error) = result { completion.yield(error) } else { completion.yield(nil) }
    }
    #expect(!handle.isCancelled)
    try await room.waitForArrival()
    handle.cancel()
    handle.cancel()
    #expect(handle.isCancelled)
    var iterator = completions.makeAsyncIterator()
    let result = await iterator.next()
    Self.expectCancelled(try #require(result ?? nil))
    completion.finish()
    #expect(await iterator.next() == nil)
  }

  @Test(
    "In callback form a cancelled fetchAndDecode reports the cancellation, even if the decoder throws another error")
  func decodedCallbacks() async throws {
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200)))
    let decoding = HTTPModelDecoding<Int> { _, _ in
      withUnsafeCurrentTask { $0?.cancel() }
      throw TestError()
    }
    let result = await withCheckedContinuation { continuation in
      do {
        stack.fetchAndDecode(try .test(), decoding: decoding) { continuation.resume(returning: Optional($0)) }
      } catch {
        continuation.resume(returning: nil)
      }
    }
    guard case .failure(let error)? = result else { throw TestFailure("no error") }
    #expect(error.isCancelled)
  }
}

/// A place in which a task waits until it is cancelled, while the test waits for the task's arrival.
private final class WaitingRoom: Sendable {
  private let arrivals = EventRecorder<Void>()

  func waitForCancellation() async {
    arrivals.record(())
    let (never, hold) = AsyncStream.makeStream(of: Never.self)
    for await _ in never {}
    hold.finish()
  }

  func waitForArrival() async throws { try await arrivals.waitForEvents(count: 1) }
}
