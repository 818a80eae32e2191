// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

@testable import LastroResilience

@Suite("Rules that are replaced while a part is in use", .timeLimit(.minutes(15)))
struct AdoptedRulesTests {
  private static func key(_ host: String = "a.example") throws -> ResilienceKey {
    ResilienceKey(try Origin("https://\(host)"))
  }

  // MARK: Breaker

  private static func failing(_ count: Int, _ breaker: CircuitBreaker) throws {
    for _ in 0..<count { try breaker.permit(for: key()).end(.failure) }
  }

  @Test("An open circuit stays open, for as long as it would have")
  func openCircuit() throws {
    let clock = ManualClock()
    let breaker = try CircuitBreaker(
      minimumCalls: 4, breakDuration: .seconds(20), time: clock.timeSource, random: .seeded(1))
    try Self.failing(4, breaker)
    let before = try breaker.state(of: Self.key())
    guard case .open = before else { throw Unexpected() }
    breaker.adoptRules(of: try CircuitBreaker(minimumCalls: 100, breakDuration: .seconds(1)))
    #expect(try breaker.state(of: Self.key()) == before)
    #expect(breaker.policy.minimumCalls == 100)
  }

  @Test("Counted failures count under the new rules, in every circuit and in those that are made later")
  func countedFailures() throws {
    for window in [CircuitBreaker.Window.time(.seconds(60)), .time(.seconds(10))] {
      let breaker = try CircuitBreaker(minimumCalls: 20, consecutiveFailures: nil, time: ManualClock().timeSource)
      try Self.failing(5, breaker)
      breaker.adoptRules(of: try CircuitBreaker(window: window, minimumCalls: 6, consecutiveFailures: nil))
      #expect(try breaker.state(of: Self.key()) == .closed)
      try Self.failing(1, breaker)
      #expect(throws: TransportError.self, "\(window)") { _ = try breaker.permit(for: Self.key()) }
      let other = try Self.key("b.example")
      for _ in 0..<6 { try breaker.permit(for: other).end(.failure) }
      #expect(throws: TransportError.self) { _ = try breaker.permit(for: other) }
    }
  }

  @Test("A window of calls keeps its newest outcomes, and a window of another kind begins empty")
  func resizedWindows() {
    for count in 1...40 {
      for size in [2, 3, 7, 10, 20] {
        var window = CircuitWindow(.calls(10))
        for number in 0..<count { window.add(failed: number % 3 == 0, slow: number % 2 == 0, now: .zero) }
        var direct = CircuitWindow(.calls(size))
        for number in max(0, count - 10)..<count {
          direct.add(failed: number % 3 == 0, slow: number % 2 == 0, now: .zero)
        }
        let resized = window.resized(to: .calls(size), now: .zero)
        #expect(resized.counts(now: .zero) == direct.counts(now: .zero), "\(count), \(size)")
        #expect(window.resized(to: .time(.seconds(10)), now: .zero).counts(now: .zero).calls == 0)
      }
    }
  }

  @Test("A window of time keeps the attempts that are recent enough, and forgets them when they are too old")
  func resizedTimes() {
    for second in 0..<60 {
      var window = CircuitWindow(.time(.seconds(30)))
      let now = Duration.seconds(100 + second)
      window.add(failed: true, slow: false, now: now)
      for length in [10, 30, 90] {
        let resized = window.resized(to: .time(.seconds(length)), now: now)
        #expect(resized.counts(now: now).failures == 1, "\(second), \(length)")
        // A bucket is a tenth of the window, and the attempt may have been anywhere in its own.
        #expect(resized.counts(now: now + .seconds(length + length / 10 + 4)).failures == 0, "\(second), \(length)")
      }
    }
  }

  @Test("A shorter window counts no attempt as later than now, and none that has left the longer one")
  func shorterWindow() {
    var window = CircuitWindow(.time(.seconds(600)))
    window.add(failed: true, slow: false, now: .seconds(10))
    window.add(failed: true, slow: false, now: .seconds(1_000))
    let resized = window.resized(to: .time(.seconds(30)), now: .seconds(1_001))
    #expect(resized.counts(now: .seconds(1_001)).failures == 1)
    #expect(resized.counts(now: .seconds(1_035)).failures == 0)
    // The longest window has slices of years.
    var longest = CircuitWindow(.time(.seconds(Int64.max)))
    longest.add(failed: true, slow: false, now: .seconds(5))
    #expect(longest.resized(to: .time(.seconds(1)), now: .seconds(5)).counts(now: .seconds(5)).failures == 1)
  }

  @Test("A half-open circuit probes anew with another number of probes, and ignores the outcomes of earlier ones")
  func probes() throws {
    let policy = CircuitBreakerPolicy(minimumCalls: 2, breakDuration: .seconds(10), probes: 3)
    for probes in 1...4 {
      for ended in 0...2 {
        var machine = CircuitMachine(policy)
        for _ in 0..<2 { machine.end(0, .failure, duration: .zero, now: .zero, unit: 0.5) }
        var admitted: [UInt64] = []
        for _ in 0..<3 {
          if case .admitted(let generation) = machine.ask(now: .seconds(10)) { admitted.append(generation) }
        }
        try #require(admitted.count == 3)
        for _ in 0..<ended { machine.end(admitted[0], .success, duration: .zero, now: .seconds(10), unit: 0) }
        var other = policy
        other.probes = probes
        machine.adopt(other, now: .seconds(11))
        if probes == 3 {
          for _ in ended..<3 { machine.end(admitted[0], .success, duration: .zero, now: .seconds(11), unit: 0) }
        } else {
          machine.end(admitted[0], .failure, duration: .zero, now: .seconds(11), unit: 0)
          #expect(machine.state(now: .seconds(11)) == .halfOpen)
          for _ in 0..<probes {
            guard case .admitted(let generation) = machine.ask(now: .seconds(11)) else { throw Unexpected() }
            machine.end(generation, .success, duration: .zero, now: .seconds(11), unit: 0)
          }
        }
        #expect(machine.state(now: .seconds(11)) == .closed, "\(probes) probes, \(ended) had ended")
      }
    }
  }

  // MARK: Limiter

  @Test("A higher limit admits queued attempts at once")
  func higherLimit() async throws {
    let clock = ManualClock()
    let limiter = try ConcurrencyLimiter(limit: 1, time: clock.timeSource)
    let key = try Self.key()
    let first = try await limiter.permit(for: key)
    let queued = (0..<3).map { _ in Task { try await limiter.permit(for: key).end(.ignored) } }
    try await clock.waitForLimits(count: 3)
    limiter.adoptRules(of: try ConcurrencyLimiter(limit: 3))
    for task in queued { try await task.value }
    #expect(limiter.snapshot(of: key) == .init(limit: 3, inUse: 1, waiting: 0))
    first.end(.ignored)
  }

  @Test("A lower limit and a smaller queue take no permit and no place away")
  func lowerLimit() throws {
    for limit in 1...4 {
      for capacity in 0...2 {
        var machine = LimiterMachine(.fixed(3), capacity: 2)
        var grants: [LimiterMachine.Grant] = []
        for _ in 0..<5 {
          if case .admitted(let grant) = machine.ask(now: .zero, left: nil) { grants.append(grant) }
        }
        let admitted = machine.adopt(.fixed(limit), capacity: capacity, now: .zero)
        #expect(admitted.map(\.ticket) == (limit == 4 ? [1] : []))
        #expect(machine.inUse == max(3, limit))
        #expect(machine.waitingCount == (limit == 4 ? 1 : 2))
        let isFull = capacity <= machine.waitingCount
        #expect((machine.ask(now: .zero, left: nil) == .refused) == isFull)
        grants += admitted.map(\.grant)
        var ended = 0
        while let grant = grants.popLast() {
          grants += machine.end(grant, .ignored, now: .zero).map(\.grant)
          ended += 1
          #expect(machine.inUse <= max(3, limit))
        }
        #expect(machine.inUse == 0 && machine.waitingCount == 0)
        #expect(ended >= 5, "limit \(limit), capacity \(capacity)")
      }
    }
  }

  @Test("An adaptive limit stays within the new range, whatever the algorithm was")
  func adaptiveLimits() throws {
    let algorithms: [ConcurrencyAlgorithm] = [
      .fixed(40), .aimd(initial: 10, range: 5...20), .aimd(initial: 60, range: 50...70),
      .gradient(initial: 30, range: 25...35),
    ]
    var seen = 0
    for from in algorithms {
      for to in algorithms {
        var limit = ConcurrencyLimit(from)
        let before = limit.value
        limit.adopt(to)
        switch to {
        case .fixed(let value): #expect(limit.value == value)
        case .aimd(_, let range, _), .gradient(_, let range):
          #expect(limit.value == min(max(before, range.lowerBound), range.upperBound), "\(from) to \(to)")
        }
        seen += 1
      }
    }
    #expect(seen == 16)
  }

  // MARK: Pacer

  @Test("Requests that were sent ahead of the old pace are ahead of the new one")
  func paces() throws {
    for (perSecond, expected) in [(1, "3 s"), (10, "300 ms"), (100, "30 ms")] {
      var machine = PacingMachine(pace: try Pacer.Pace(perSecond: 0.01, burst: 3))
      for _ in 0..<3 { _ = machine.send(machine.reserve(now: .zero, unit: 0)) }
      machine.adopt(try Pacer.Pace(perSecond: Double(perSecond), burst: 1), now: .zero)
      #expect(machine.reserve(now: .zero, unit: 0).slot.brief == expected)
    }
    var machine = PacingMachine()
    machine.adopt(try Pacer.Pace(perSecond: 1), now: .seconds(5))
    #expect((0..<2).map { _ in machine.reserve(now: .seconds(5), unit: 0).slot.brief } == ["5 s", "6 s"])
    machine.adopt(nil, now: .seconds(5))
    #expect(machine.reserve(now: .seconds(5), unit: 0).slot.brief == "5 s")
  }

  @Test("A server's limits stay, and the next request waits for no longer than the new rules allow")
  func serverLimits() async throws {
    let clock = ManualClock()
    let pacer = try Pacer(time: clock.timeSource)
    let slot = try await pacer.slot(for: Self.key())
    let response = HTTPResponse(status: .tooManyRequests, headerFields: [.retryAfter: "30"])
    #expect(pacer.learn(slot, from: response) == .seconds(30))
    try pacer.adoptRules(of: try Pacer(perSecond: 100, maximumWait: .seconds(10)))
    #expect(try pacer.status(of: Self.key()).blocked == .seconds(30))
    await #expect(throws: TransportError.self) { try await pacer.slot(for: Self.key()) }
  }

  private struct Unexpected: Error {}
}
