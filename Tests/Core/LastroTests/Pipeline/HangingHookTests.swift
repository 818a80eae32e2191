// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Hooks that hang", .timeLimit(.minutes(15)))
struct HangingHookTests {
  enum Place: CaseIterable { case maker, make, scheduled, succeeded, failed }

  enum End: CaseIterable { case total, attempt, cancellation }

  /// A call in which one hook hangs.
  struct Call: Sendable {
    let clock = SimulatedClock()
    let place: Place
    let end: End
    let isCancellable: Bool
    let started = AsyncStream.makeStream(of: Void.self)
    let transport: ScriptedTransport

    init(_ place: Place, _ end: End, isCancellable: Bool) {
      self.place = place
      self.end = end
      self.isCancellable = isCancellable
      transport = ScriptedTransport(repeatingLast: .answer(place == .failed ? 503 : 200))
    }

    func visit(_ visited: Place) async {
      guard visited == place else { return }
      if end == .cancellation {
        started.continuation.finish()
        await clock.hang(isCancellable: isCancellable)
      } else {
        _ = await clock.elapse(nil, isLimited: true, isCancellable: isCancellable)
      }
    }

    func fetch() async throws -> Result<ResourceResponse, HTTPFetchError<any Error>> {
      let hooks = Hooks(
        make: { result, _ in
          await visit(.make)
          return result
        }, scheduled: { _, _ in await visit(.scheduled) }, succeeded: { _, _, _, _ in await visit(.succeeded) },
        failed: { _ in
          await visit(.failed)
          return .none
        })
      let making = BaseRequestMaking<ResourceRequest> {
        await visit(.maker)
        return try .test()
      }
      let timeouts = try Timeouts(
        connect: nil, attempt: end == .attempt ? .seconds(5) : nil, idle: nil,
        total: end == .cancellation ? nil : .seconds(10))
      let stack = TransportNetworkStack(transport, time: clock.source, timeouts: timeouts)
      let task = Task {
        do throws(HTTPFetchError<any Error>) {
          let value = try await stack.fetch(RawHTTPResource(baseRequestMaking: making, interceptors: [hooks]))
          return Result<_, HTTPFetchError<any Error>>.success(value.response)
        } catch {
          return .failure(error)
        }
      }
      if end == .cancellation {
        for await _ in started.stream {}
        task.cancel()
      }
      let result = await task.value
      clock.close()
      return result
    }
  }

  @Test(
    "The call ends with the limit or the cancellation, and the right error", arguments: Place.allCases, End.allCases)
  func ends(place: Place, end: End) async throws {
    for isCancellable in [true, false] {
      let call = Call(place, end, isCancellable: isCancellable)
      let result = try await call.fetch()
      #expect(call.transport.requests.count == (place == .succeeded || place == .failed ? 1 : 0))
      switch (end, place, result) {
      case (.cancellation, _, .failure(let error)):
        #expect(error.isCancelled && call.clock.now == .zero)
        #expect(error.attempts.last?.requestSent == !call.transport.requests.isEmpty)
      case (_, .succeeded, .success):
        // The attempt is over, so only the call's limit remains.
        #expect(call.clock.now == .seconds(10))
      case (_, .failed, .failure(let error)):
        #expect(error.statusCode == .serviceUnavailable && error.retryEnd?.description.contains("deadline") == true)
        #expect(call.clock.now == .seconds(10) && error.ledger.elapsed == .seconds(10))
      case (.total, .maker, .failure(let error)), (.total, .make, .failure(let error)),
        (.total, .scheduled, .failure(let error)):
        #expect(error.stage == .timeout && error.code == .totalTimeout && call.clock.now == .seconds(10))
      case (.attempt, .maker, .failure(let error)), (.attempt, .make, .failure(let error)),
        (.attempt, .scheduled, .failure(let error)):
        #expect(error.stage == .timeout && error.code == .attemptTimeout && call.clock.now == .seconds(5))
      default: Issue.record("\(result)")
      }
    }
  }

  @Test("A hook that is called at the end is awaited if it is quick, and for a second at most if it hangs")
  func grace() async throws {
    for isCancelled in [true, false] {
      for hangs in [true, false] {
        let clock = SimulatedClock()
        let told = EventRecorder<FailureStage>()
        let hooks = Hooks(failed: { failure in
          for _ in 0..<10 { await Task.yield() }
          if hangs { _ = await clock.elapse(nil, isLimited: true, isCancellable: false) }
          told.record(failure.error.stage)
          return .retry
        })
        let callers = EventRecorder<Task<HTTPFetchError<any Error>, any Error>>()
        let transport = ScriptedTransport { _ throws(TransportError) in
          if isCancelled {
            try? await callers.waitForEvents(count: 1).first?.cancel()
          } else {
            clock.advance(by: .seconds(10))
          }
          throw TransportError(stage: .timeout, code: .totalTimeout, message: "late", requestSent: true)
        }
        let timeouts = try Timeouts(connect: nil, attempt: nil, idle: nil, total: .seconds(10))
        let stack = TransportNetworkStack(transport, time: clock.source, timeouts: timeouts)
        let task = Task { try await stack.failure(of: .intercepted(by: hooks)) }
        callers.record(task)
        let error = try await task.value
        #expect(error.isCancelled == isCancelled && transport.requests.count == 1)
        #expect(told.events == (hangs ? [] : [isCancelled ? .cancelled : .timeout]))
        #expect(clock.now == (isCancelled ? .zero : .seconds(10)) + (hangs ? .seconds(1) : .zero))
        clock.close()
      }
    }
  }

  @Test("An attempt that produced no request counts as one of the policy's retries")
  func countsEveryAttempt() async throws {
    for limit in 0...4 {
      let clock = SimulatedClock()
      let calls = EventRecorder<Int>()
      let making = BaseRequestMaking<ResourceRequest> {
        if calls.record(0) % 2 == 1 { _ = await clock.elapse(nil, isLimited: true, isCancellable: true) }
        return try .test()
      }
      let transport = ScriptedTransport(repeatingLast: .answer(503))
      let timeouts = try Timeouts(connect: nil, attempt: .seconds(1), idle: nil, total: nil)
      let stack = TransportNetworkStack(transport, time: clock.source, timeouts: timeouts)
      let error = try await stack.failure(
        of: RawHTTPResource(
          baseRequestMaking: making, interceptors: [Hooks(), RetryInterceptor(policy: .maxRetries(limit))]))
      #expect(error.attempts.count == limit + 1 && calls.events.count == limit + 1)
      clock.close()
    }
  }
}
