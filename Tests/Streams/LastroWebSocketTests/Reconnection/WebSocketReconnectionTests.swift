// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroWebSocket
import Testing

@Suite("WebSocket reconnection", .timeLimit(.minutes(15)))
struct WebSocketReconnectionTests {
  /// Returns a client whose dials are refused as the list says.
  private func client(
    _ refusals: [Bool], _ behavior: LoopbackWebSocketBehavior, clock: ManualClock, code: FailureCode = .connectFailed
  ) -> WebSocketClient {
    var client = memoryClient(behavior, clock: clock)
    client = WebSocketClient(
      dialer: FlakyDialer(inner: client.dialer, refusals: refusals, code: code), configuration: client.configuration,
      stack: client.stack)
    return client
  }

  @Test("Losses are reported with their waits, new sockets follow, and nothing is sent again automatically")
  func gaps() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onMessage = { _ in [.cut] }
    let clock = ManualClock(autoAdvance: true)
    let reopened = EventRecorder<String>()
    let feed = client([false, true, true, false, true, true], behavior, clock: clock).reconnecting(
      to: "ws://h/",
      policy: .backoff(.exponential(baseDelay: .seconds(1), scale: Retry.Backoff.doubling, until: .maxRetries(3)))
    ) { _ in reopened.record("reopened") }
    var events = feed.makeAsyncIterator()
    var delays: [Duration] = []
    for isOpen in [true, false, false, false, true] {
      switch try await events.next() {
      case .opened(let socket):
        #expect(isOpen)
        try? await socket.send("lost")
      case .waiting(let delay, _, let attempt):
        #expect(!isOpen)
        delays.append(delay)
        #expect(attempt == delays.count)
      case nil: Issue.record("ended")
      }
    }
    #expect(delays == [.seconds(1), .seconds(2), .seconds(4)])
    #expect(clock.sleeps == delays)
    #expect(reopened.events == ["reopened"])
    // The socket was not stable, so the retries of the policy are used up.
    let error = await next(&events)
    #expect(error?.word == "connectionLost")
  }

  @Test("A limit of 1,500 retries holds, although only 1,000 errors are kept")
  func manyRetries() async throws {
    let clock = ManualClock(autoAdvance: true)
    let kept = Lock(0)
    let limit = Retry.Policy<Duration>.backoff(.constant(delay: .seconds(1), until: .maxRetries(1500)))
    let policy = Retry.Policy<Duration>.custom { error, state, openFor in
      kept.withLock { $0 = max($0, state.errors.count) }
      return limit.shouldRetry(with: error, state: state, metadata: openFor)
    }
    let client = client(Array(repeating: true, count: 1600), LoopbackWebSocketBehavior(), clock: clock)
    var events = client.reconnecting(to: "ws://h/", policy: policy).makeAsyncIterator()
    for attempt in 1...1500 {
      guard case .waiting(_, _, let number) = try await events.next() else { return fails("no wait") }
      try #require(number == attempt)
    }
    let error = await next(&events)
    #expect(error?.code == .connectFailed)
    #expect(clock.sleeps.count == 1500 && kept.withLock { $0 } == 1000)
  }

  @Test("An address that an egress policy denies is not dialed again")
  func deniedAddress() async throws {
    let clock = ManualClock(autoAdvance: true)
    let client = client([true], LoopbackWebSocketBehavior(), clock: clock, code: .egressDenied)
    var events = client.reconnecting(to: "ws://h/").makeAsyncIterator()
    let error = await next(&events)
    #expect(error?.code == .egressDenied)
    #expect(clock.sleeps.isEmpty)
  }

  @Test("An error thrown by onReopen is the reason of the next loss")
  func refusedReopening() async throws {
    struct Expired: Error {}
    var behavior = LoopbackWebSocketBehavior()
    behavior.onMessage = { _ in [.cut] }
    let feed = client([], behavior, clock: ManualClock(autoAdvance: true)).reconnecting(
      to: "ws://h/", policy: .backoff(.constant(delay: .seconds(1), until: .maxRetries(1)))
    ) { _ in throw Expired() }
    var events = feed.makeAsyncIterator()
    if case .opened(let socket) = try await events.next() { try? await socket.send("lost") }
    _ = try await events.next()
    let error = try #require(await next(&events))
    guard case .reopeningRefused(let cause) = error.reason else {
      Issue.record("\(error)")
      return
    }
    #expect(cause is Expired)
    #expect(error.message.contains("Expired"))
  }

  private func next(
    _ events: inout some AsyncIteratorProtocol<WebSocketClient.Event, WebSocketError>
  ) async -> WebSocketError? {
    do throws(WebSocketError) {
      _ = try await events.next(isolation: #isolation)
      return nil
    } catch {
      return error
    }
  }

  @Test("After a stable socket the policy starts again")
  func stable() async throws {
    var behavior = LoopbackWebSocketBehavior()
    behavior.onMessage = { _ in [.close(1012, "restart")] }
    let clock = ManualClock(autoAdvance: true)
    var events = client([], behavior, clock: clock).reconnecting(
      to: "ws://h/", policy: .backoff(.constant(delay: .seconds(1), until: .maxRetries(1))), stableAfter: .seconds(30)
    ).makeAsyncIterator()
    for _ in 0..<3 {
      guard case .opened(let socket) = try await events.next() else { return fails("no socket") }
      clock.advance(by: .seconds(31))
      try await socket.send("x")
      guard case .waiting(_, let error, let attempt) = try await events.next() else { return fails("no wait") }
      guard case .closed(let close?) = error.reason else { return fails("\(error)") }
      #expect(attempt == 1 && close.code == .serviceRestart)
    }
  }

  @Test("Our close, or a normal one of the server, is final")
  func normal() async throws {
    for isOurs in [true, false] {
      var behavior = LoopbackWebSocketBehavior()
      behavior.onMessage = { _ in [.close(1000, "")] }
      var events = memoryClient(behavior).reconnecting(to: "ws://h/").makeAsyncIterator()
      guard case .opened(let socket) = try await events.next() else { return fails("no socket") }
      if isOurs { try await socket.close(.goingAway) } else { try await socket.send("x") }
      let event = try await events.next()
      #expect(event == nil)
    }
  }
}

/// A dialer that refuses dials as a list says. Later dials go through.
private struct FlakyDialer: Dialer {
  let inner: any Dialer
  let code: FailureCode
  let refusals: Lock<[Bool]>

  init(inner: any Dialer, refusals: [Bool], code: FailureCode) {
    self.inner = inner
    self.code = code
    self.refusals = Lock(refusals)
  }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let isRefused = refusals.withLock { $0.isEmpty ? false : $0.removeFirst() }
    if isRefused { throw TransportError(stage: .connect, code: code, message: "refused") }
    return try await inner.dial(request)
  }
}
