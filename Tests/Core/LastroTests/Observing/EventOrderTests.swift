// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Order of events", .timeLimit(.minutes(15)))
struct EventOrderTests {
  /// Runs scenarios by seed, and records the violations of each.
  @Test(
    "Every start event is followed by its end, in random scenarios",
    arguments: 0..<8)
  func everyStartGetsItsEndInRandomScenarios(batch: UInt64) async throws {
    var events: [String: Int] = [:]
    for seed in (batch * 100)..<(batch * 100 + 100) {
      let scenario = RandomCall(seed: seed)
      await scenario.run()
      #expect(scenario.grammar.violations == [], "seed \(seed)")
      #expect(scenario.grammar.openCalls == [], "seed \(seed)")
      events.merge(scenario.grammar.events) { $0 + $1 }
    }
    #expect(events["callStarted"] == 100)
    #expect(events["callEnded"] == 100)
    #expect(events["transferStarted"] == events["transferEnded"])
    #expect(events["attemptStarted"] == events["attemptEnded"])
    // The scenarios must include retries and bodies; otherwise the test proves nothing.
    #expect((events["retryScheduled"] ?? 0) > 20)
    #expect((events["bodyEnded"] ?? 0) > 5)
  }

  @Test(
    "The checker detects wrong orders",
    arguments: [
      (".", [1]), ("c", [1]), ("a c", [1, 2, 1]), ("a t e", []), ("t", []), ("a t T e c", [1]),
    ])
  func theCheckerFindsWhatIsWrong(word: String, numbers: [Int]) {
    let grammar = EventGrammar()
    grammar.observe(FetchEvent(kind: .callStarted, attempt: 0))
    for (index, letter) in word.split(separator: " ").enumerated() {
      let number = index < numbers.count ? numbers[index] : 1
      switch letter {
      case "a": grammar.observe(FetchEvent(kind: .attemptStarted(number: number), attempt: number))
      case "t":
        let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
        grammar.observe(FetchEvent(kind: .transferStarted(ResourceRequest(head: head))))
      case "T": grammar.observe(FetchEvent(kind: .transferEnded(.failure(.cancelled())), hop: 1))
      case "e": grammar.observe(FetchEvent(kind: .attemptEnded(Attempt(outcome: .failed))))
      case "c": grammar.observe(FetchEvent(kind: .callEnded(.failure(HTTPFetchError(.cancelled)))))
      default: break
      }
    }
    #expect(!grammar.violations.isEmpty || !grammar.openCalls.isEmpty)
  }
}

/// A call whose properties are all random: answers, hooks, limits, the time of cancellation, the way its body is read.
struct RandomCall: Sendable {
  enum Reading: Int, CaseIterable, Sendable { case toTheEnd, dropped, partly, cancelled, givenUp }

  let seed: UInt64
  let grammar: EventGrammar
  private let lot: RandomSource
  private let clock = ManualClock(autoAdvance: true)
  private let handle = CancelHandle()
  private let isStream: Bool
  private let reading: Reading

  init(seed: UInt64) {
    self.seed = seed
    let lot = RandomSource.seeded(seed &* 0x9E37_79B9 &+ 1)
    self.lot = lot
    isStream = lot.draw(2) == 0
    reading = Reading.allCases[lot.draw(Reading.allCases.count)]
    // Every second call is cancelled at one of its events, if it has enough of them.
    let cancelled = lot.draw(2) == 0 ? .max : lot.draw(14) + 1
    let handle = self.handle
    grammar = EventGrammar { _, index in if index == cancelled { handle.cancel() } }
  }

  func run() async {
    let (start, begin) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      for await _ in start { break }
      await call()
    }
    handle.set(task)
    begin.yield()
    await task.value
  }

  private func call() async {
    let stack = TransportNetworkStack.observed(
      ScriptedTransport { request throws(TransportError) in try await answer(request) }, by: grammar, clock: clock
    ) { configuration in
      configuration.maximumAttempts = 6
      configuration.signers = lot.draw(3) == 0 ? [LotSigner { try await make($0) }] : []
      configuration.retryQuota = lot.draw(3) == 0 ? configuration.retryQuota : nil
    }
    guard let resource = try? resource() else { return }
    do {
      if isStream {
        await read(try await stack.stream(resource).value)
      } else {
        _ = try await stack.fetch(resource)
      }
    } catch {}
  }

  private func resource() throws -> RawHTTPResource {
    var options = RequestOptions()
    options.requiresBody = lot.draw(6) == 0
    options.redirects = lot.draw(5) == 0 ? .follow(limit: 2) : nil
    options.idempotency = lot.draw(4) == 0 ? .generatedKey : .byMethod
    options.maximumBodyBytes = lot.draw(8) == 0 ? 3 : nil
    if lot.draw(2) == 0 {
      options.timeouts = try Timeouts(
        connect: nil, attempt: lot.draw(2) == 0 ? .seconds(5) : nil, idle: nil, total: .seconds(20))
    }
    let methods: [HTTPRequest.Method] = [.get, .post, .head, .put]
    let request = try ResourceRequest.test(methods[lot.draw(methods.count)], body: body(), options: options)
    return RawHTTPResource(
      baseRequestMaking: lot.draw(3) == 0 ? .request(request) : BaseRequestMaking { try await make(request) },
      interceptors: [hooks()])
  }

  private func body() -> RequestBody {
    switch lot.draw(3) {
    case 0: .raw("hello")
    case 1: .stream(AsyncStream { $0.finish() })
    default: .empty
    }
  }

  private func make(_ request: ResourceRequest) async throws -> ResourceRequest {
    await dawdle()
    if lot.draw(10) == 0 { throw TestError() }
    return request
  }

  private func hooks() -> Hooks {
    Hooks(
      make: { result, _ in
        await dawdle()
        return lot.draw(14) == 0 ? .failure(TestError()) : result
      },
      scheduled: { _, _ in await dawdle() }, succeeded: { _, _, _, _ in await dawdle() },
      failed: { _ in
        await dawdle()
        switch lot.draw(6) {
        case 0: return .none
        case 1: return .noRetry(.custom(TestError()))
        case 2: return .retry
        default: return .retryAfter(.seconds(Double(lot.draw(3)) + 0.5))
        }
      })
  }

  /// Occasionally cancels the call, lets time pass, or waits until cancelled.
  private func dawdle() async {
    switch lot.draw(24) {
    case 0: handle.cancel()
    case 1, 2: clock.advance(by: .seconds(3))
    case 3: try? await clock.sleep(.seconds(2))
    case 4:
      for _ in 0..<1_000 where !Task.isCancelled {
        clock.advance(by: .milliseconds(100))
        await Task.yield()
      }
    default: break
    }
  }

  private func answer(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    clock.advance(by: .milliseconds(10))
    switch lot.draw(26) {
    case 0, 1: return .answer(302, fields: [.location: "/\(lot.draw(4))"])
    case 2: return .answer(301, fields: [.location: "http://insecure.example/"])
    case 3: return .answer(503, fields: [.retryAfter: "\(lot.draw(90))"])
    case 4: return .answer(500, body: "oops")
    case 5: return .answer(404)
    case 6: return .answer(204)
    case 7: throw TransportError(stage: .connect, code: .connectFailed, message: "scripted")
    case 8: throw TransportError(stage: .timeout, code: request.deadlineCode, message: "scripted", requestSent: true)
    case 9: throw TransportError(stage: .response, code: .malformedResponse, message: "scripted", requestSent: true)
    case 10: throw TransportError(stage: .tls, code: .untrustedCertificate, message: "scripted")
    case 11:
      handle.cancel()
      throw .cancelled(requestSent: true)
    default: return streamed()
    }
  }

  private func streamed() -> TransferResponse {
    let failure = TransportError(stage: .response, code: .truncatedBody, message: "scripted", requestSent: true)
    let chunks = (0..<lot.draw(4)).map { Data("chunk \($0)".utf8) }
    return TransferResponse(
      head: HTTPResponse(status: .ok),
      body: isStream || lot.draw(3) == 0
        ? ResponseBody(source: ChunkSource(chunks, failure: lot.draw(3) == 0 ? failure : nil))
        : ResponseBody(Data(chunks.joined())))
  }

  private func read(_ body: ResponseBody) async {
    switch reading {
    case .dropped: return
    case .givenUp: body.cancel()
    case .cancelled: handle.cancel()
    case .toTheEnd, .partly: break
    }
    do {
      for try await _ in body where reading == .partly { return }
    } catch {}
  }
}

/// A signer that calls a closure.
private struct LotSigner: RequestSigner {
  var origins: [Origin] { [try? Origin("https://example.com")].compactMap(\.self) }
  var make: @Sendable (ResourceRequest) async throws -> ResourceRequest

  func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest { try await make(request) }
}

/// A handle that cancels a task that is created later.
final class CancelHandle: Sendable {
  private let task = Lock<Task<Void, Never>?>(nil)

  func set(_ task: Task<Void, Never>) { self.task.withLock { $0 = task } }
  func cancel() { task.withLock { $0 }?.cancel() }
}

extension RandomSource {
  /// Returns a random number below a limit.
  func draw(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}

/// A state machine for the order of events that `FetchObserver` promises. It accepts events of any number of calls, and
/// records violations.
final class EventGrammar: FetchObserver {
  fileprivate enum Place: Equatable {
    case callStarted
    case inAttempt(hops: Int)
    case inTransfer(hop: Int)
    case betweenAttempts
    case retryScheduled
    case callEnded(awaitsBody: Bool)
    case bodyEnded
  }

  fileprivate struct Call {
    var place = Place.callStarted
    var attempts = 0
    var time: Duration
    var isStream: Bool
    var succeeded = false
  }

  private struct State {
    var calls: [UInt64: Call] = [:]
    var violations: [String] = []
    var events: [String: Int] = [:]
  }

  private let state = Lock(State())
  private let hook: @Sendable (FetchEvent, _ index: Int) -> Void

  init(hook: @escaping @Sendable (FetchEvent, _ index: Int) -> Void = { _, _ in }) { self.hook = hook }

  /// The violations of the promised order.
  var violations: [String] { state.withLock { $0.violations } }
  /// The number of events of each kind.
  var events: [String: Int] { state.withLock { $0.events } }
  /// The calls that have not ended.
  var openCalls: [UInt64] {
    state.withLock { state in
      state.calls.filter { ![.bodyEnded, .callEnded(awaitsBody: false)].contains($0.value.place) }.map(\.key)
    }
  }

  func observe(_ event: FetchEvent) {
    let index = state.withLock { state -> Int in
      state.events[event.name, default: 0] += 1
      if case .callStarted = event.kind {
        if state.calls[event.callID] != nil { state.violations.append("call \(event.callID) started twice") }
        state.calls[event.callID] = Call(time: event.time, isStream: event.isStream)
        if event.attempt != 0 { state.violations.append("a call starts in attempt \(event.attempt)") }
      } else if var call = state.calls[event.callID] {
        let place = call.place
        if let problem = call.take(event) {
          state.violations.append("call \(event.callID): \(event.name) at \(place): \(problem)")
        }
        state.calls[event.callID] = call
      } else {
        state.violations.append("\(event.name) of a call that has not started")
      }
      return state.events.values.reduce(0, +)
    }
    hook(event, index)
  }
}

extension EventGrammar.Call {
  /// Returns the violation that an event causes; `nil` if the event is in order.
  fileprivate mutating func take(_ event: FetchEvent) -> String? {
    if event.time < time { return "time goes back" }
    time = event.time
    if event.isStream != isStream { return "it is a stream, or is not" }
    switch (place, event.kind) {
    case (.callStarted, .attemptStarted(let number)), (.retryScheduled, .attemptStarted(let number)):
      attempts += 1
      place = .inAttempt(hops: 0)
      return number == attempts && event.attempt == number ? nil : "number \(number), attempt \(event.attempt)"
    case (.inAttempt(let hops), .transferStarted):
      place = .inTransfer(hop: event.hop)
      return event.hop == hops && event.attempt == attempts ? nil : "hop \(event.hop) after \(hops)"
    case (.inTransfer(let hop), .transferEnded):
      place = .inAttempt(hops: hop + 1)
      return event.hop == hop && event.attempt == attempts ? nil : "of another hop or attempt"
    case (.inAttempt, .attemptEnded(let attempt)):
      place = .betweenAttempts
      succeeded = attempt.outcome == .succeeded
      return attempt.number == attempts && event.attempt == attempts ? nil : "of another attempt: \(event.attempt)"
    case (.betweenAttempts, .retryScheduled):
      place = .retryScheduled
      return succeeded ? "of a success" : event.attempt == attempts ? nil : "of another attempt"
    case (.betweenAttempts, .callEnded(let result)), (.retryScheduled, .callEnded(let result)):
      return end(result, event)
    case (.callEnded(true), .bodyEnded):
      place = .bodyEnded
      return event.attempt == attempts ? nil : "of another attempt"
    default: return "out of place"
    }
  }

  private mutating func end(
    _ result: Result<ResourceResponse, HTTPFetchError<any Error>>, _ event: FetchEvent
  ) -> String? {
    let wasScheduled = place == .retryScheduled
    switch result {
    case .success(let response):
      place = .callEnded(awaitsBody: isStream)
      guard succeeded, !wasScheduled else { return "without a success" }
      return response.attempts.count == attempts && event.attempt == attempts ? nil : "with another count of attempts"
    case .failure(let error):
      place = .callEnded(awaitsBody: false)
      if succeeded || wasScheduled, !error.isCancelled { return "with \(error) after a success, or during a wait" }
      return error.attempts.count == attempts && event.attempt == attempts ? nil : "with another count of attempts"
    }
  }
}

extension FetchEvent {
  /// The name of the event's kind.
  var name: String {
    switch kind {
    case .callStarted: "callStarted"
    case .attemptStarted: "attemptStarted"
    case .transferStarted: "transferStarted"
    case .transferEnded: "transferEnded"
    case .attemptEnded: "attemptEnded"
    case .retryScheduled: "retryScheduled"
    case .callEnded: "callEnded"
    case .bodyEnded: "bodyEnded"
    @unknown default: "unknown"
    }
  }
}
