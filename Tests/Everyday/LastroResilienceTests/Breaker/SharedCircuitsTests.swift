// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import LastroResilience

/// Other instances that a test scripts.
private final class ScriptedCircuits: SharedCircuits {
  struct State {
    var verdict: CircuitVerdict?
    var notes: [TransferFacts.Note] = []
    var turns: [ProbeTurn] = []
    var verdictAfterTurn: CircuitVerdict?
    var calls: [String] = []
  }

  let state = Lock(State())

  func attempt(on key: ResilienceKey, isClosed: Bool, now: Duration) -> CircuitNews {
    state.withLock { state in
      defer { state.notes = [] }
      return CircuitNews(verdict: state.verdict, notes: state.notes)
    }
  }

  func attemptFailed(on key: ResilienceKey) { state.withLock { $0.calls.append("failed") } }

  func circuitOpened(_ key: ResilienceKey, for left: Duration) {
    state.withLock { $0.calls.append("opened for \(left.brief)") }
  }

  func circuitClosed(_ key: ResilienceKey) { state.withLock { $0.calls.append("closed") } }

  func turn(toProbe key: ResilienceKey, for length: Duration, within limit: Duration) async -> ProbeTurn {
    state.withLock { state in
      state.calls.append("turn for \(length.brief)")
      if let verdict = state.verdictAfterTurn.take() { state.verdict = verdict }
      return state.turns.isEmpty ? .taken : state.turns.removeFirst()
    }
  }

  func words() -> String { "shared" }
}

@Suite("Circuit breaker over scripted instances", .timeLimit(.minutes(15)))
struct SharedCircuitsTests {
  private let clock = ManualClock()
  private let others = ScriptedCircuits()
  private let transport: ScriptedTransport
  private let stack: TransportNetworkStack

  init() {
    let policy = CircuitBreakerPolicy(minimumCalls: 2, probes: 1)
    let breaker = CircuitBreaker(policy: policy, time: clock.timeSource, random: .constant(0.5), shared: others)
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.resilience = Resilience(breaker: breaker)
    transport = ScriptedTransport([
      .respond(status: 500), .respond(status: 500), .respond(status: 500), .respond(status: 200),
    ])
    stack = TransportNetworkStack(transport: transport, configuration: configuration)
  }

  /// Returns the end of a call, and the notes in its ledger.
  private func call() async throws -> (end: String, notes: [String]) {
    let resource = RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"))
    do throws(HTTPFetchError<any Error>) {
      let ledger = try await stack.fetch(resource).response.ledger
      return ("fine", ledger.attempts.flatMap { $0.facts?.notes ?? [] }.map(\.text))
    } catch {
      return (error.message, error.ledger.attempts.flatMap { $0.facts?.notes ?? [] }.map(\.text))
    }
  }

  private func open() async throws {
    for _ in 0..<2 { _ = try await call() }
    clock.advance(by: .seconds(6))
    others.state.withLock { $0.calls = [] }
  }

  @Test("A breaker reports failures, openings and closings, and asks for its turn before it probes")
  func reports() async throws {
    for _ in 0..<2 { _ = try await call() }
    #expect(others.state.withLock { $0.calls } == ["failed", "opened for 5 s"])
    clock.advance(by: .seconds(6))
    let failed = try await call()
    #expect(failed.notes.contains("waited 0 ms for the turn to probe"), "\(failed)")
    #expect(failed.notes.contains("circuit from open to half-open"), "\(failed)")
    clock.advance(by: .seconds(6))
    #expect(try await call().end == "fine")
    let calls = others.state.withLock { $0.calls }
    #expect(
      calls == ["failed", "opened for 5 s", "turn for 5 s", "opened for 5 s", "turn for 5 s", "closed"], "\(calls)")
  }

  @Test("While another instance probes, a call is refused with that reason, and nothing is sent")
  func otherProbes() async throws {
    try await open()
    others.state.withLock { $0.turns = [.other(left: .seconds(3))] }
    let refused = try await call()
    #expect(refused.end.contains("is open: another instance probes the server; the next is tried in 3 s"), "\(refused)")
    #expect(transport.requests.count == 2)
  }

  @Test("News of a failed probe keeps the circuit open, and news of a closing lets it probe without a turn")
  func news() async throws {
    try await open()
    others.state.withLock {
      $0.turns = [.news]
      $0.verdictAfterTurn = CircuitVerdict(id: 1, isOpen: true, left: .seconds(60))
    }
    let refused = try await call()
    #expect(refused.end.contains("is open: another instance reported that too many attempts failed"), "\(refused)")
    #expect(transport.requests.count == 2)
    others.state.withLock { $0.verdict = CircuitVerdict(id: 2, isOpen: false, left: .zero) }
    let probed = try await call()
    #expect(probed.notes.contains("circuit from open to half-open, because another instance closed it"), "\(probed)")
    #expect(transport.requests.count == 3 && others.state.withLock { $0.calls.contains("turn for 5 s") })
  }

  @Test("An instance that gets only news asks three times at most, and then probes")
  func onlyNews() async throws {
    try await open()
    others.state.withLock { $0.turns = Array(repeating: .news, count: 9) }
    _ = try await call()
    #expect(others.state.withLock { $0.calls.count { $0 == "turn for 5 s" } } == 3)
    #expect(transport.requests.count == 3)
  }

  @Test("A hint opens a circuit without attempts, which error, ledger and explain attribute to another instance")
  func hint() async throws {
    others.state.withLock {
      $0.verdict = CircuitVerdict(id: 1, isOpen: true, left: .seconds(4))
      $0.notes = ["is lost", "is back"].map { TransferFacts.Note("fleet", text: "the store \($0)") }
    }
    let refused = try await call()
    #expect(refused.end.contains("is open: another instance reported that too many attempts failed"), "\(refused)")
    #expect(
      refused.notes == [
        "the store is lost", "the store is back", "circuit from closed to open, because another instance opened it",
      ])
    #expect(transport.requests.isEmpty)
    let resource = RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"))
    let words = await stack.explain(resource).description
    #expect(words.contains("circuit: open, for 3.8 s, because another instance opened it; shared\n"), "\(words)")
    #expect(stack.snapshot.parts.first { $0.kind == "breaker" }?.values["reportedBy"] == "another instance")
  }

  @Test("A call that is cancelled while it waits for its turn ends as cancelled, and nothing is sent")
  func cancelled() async throws {
    try await open()
    others.state.withLock { $0.turns = [.cancelled] }
    let resource = RawHTTPResource.raw(try ResourceRequest(url: "https://api.example.org/"))
    let error = await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(resource) }
    #expect(error?.code == .cancelled && transport.requests.count == 2, "\(error as Any)")
  }
}
