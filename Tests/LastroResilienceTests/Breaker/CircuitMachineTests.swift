// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroResilience

/// Every state with every event.
@Suite("Circuit machine")
struct CircuitMachineTests {
  /// A circuit that opens at 2 of 4, for 10 s, and wants 2 probes.
  private static func policy() throws -> CircuitBreakerPolicy {
    try CircuitBreakerPolicy(minimumCalls: 4, failureRatio: 0.5, breakDuration: .seconds(10), probes: 2)
  }

  private enum Start: String, CaseIterable {
    case closed, open, due, probing, spent
  }

  /// A circuit in a phase, the generation of what is under way in it, and the time.
  private static func circuit(_ start: Start) throws -> (machine: CircuitMachine, admitted: UInt64?, now: Duration) {
    var machine = CircuitMachine(try policy())
    guard start != .closed else {
      guard case .admitted(let generation) = machine.ask(now: .zero) else { throw Unexpected() }
      return (machine, generation, .zero)
    }
    for _ in 0..<4 { machine.end(0, .failure, duration: .zero, now: .zero, unit: 0.5) }
    switch start {
    case .closed, .open: return (machine, nil, .seconds(5))
    case .due: return (machine, nil, .seconds(10))
    case .probing, .spent:
      guard case .admitted(let generation) = machine.ask(now: .seconds(10)) else { throw Unexpected() }
      if start == .spent { _ = machine.ask(now: .seconds(10)) }
      return (machine, generation, .seconds(11))
    }
  }

  private struct Unexpected: Error {}

  /// A history that breaks a rule.
  private struct LostPermit: Error {
    let seed: Int
  }

  private static func word(_ machine: CircuitMachine) -> String {
    switch machine.phase {
    case .closed: "closed"
    case .open(let until): "open until \(until.brief)"
    case .halfOpen(let issued, let successes, _): "half-open \(issued)/\(successes)"
    }
  }

  @Test("asked, in every phase")
  func asked() throws {
    let expected: [Start: (answer: String, phase: String)] = [
      .closed: ("admitted", "closed"), .open: ("refused 5 s", "open until 10 s"), .due: ("admitted", "half-open 1/0"),
      .probing: ("admitted", "half-open 2/0"), .spent: ("refused 9 s", "half-open 2/0"),
    ]
    for start in Start.allCases {
      var (machine, _, now) = try Self.circuit(start)
      let answer: String
      switch machine.ask(now: now) {
      case .admitted: answer = "admitted"
      case .refused(let wait): answer = "refused \(wait.brief)"
      }
      #expect(answer == expected[start]?.answer, "\(start)")
      #expect(Self.word(machine) == expected[start]?.phase, "\(start)")
    }
  }

  @Test("told of the end, in every phase, of this generation and of an older one")
  func ended() throws {
    let expected: [Start: [AttemptVerdict: String]] = [
      .closed: [.success: "closed", .failure: "closed", .ignored: "closed"],
      .open: [.success: "open until 10 s", .failure: "open until 10 s", .ignored: "open until 10 s"],
      .due: [.success: "open until 10 s", .failure: "open until 10 s", .ignored: "open until 10 s"],
      .probing: [.success: "half-open 1/1", .failure: "open until 31 s", .ignored: "half-open 0/0"],
      .spent: [.success: "half-open 2/1", .failure: "open until 31 s", .ignored: "half-open 1/0"],
    ]
    for start in Start.allCases {
      for verdict in AttemptVerdict.allCases {
        var (machine, admitted, now) = try Self.circuit(start)
        machine.end(admitted ?? machine.generation, verdict, duration: .zero, now: now, unit: 0.5)
        #expect(Self.word(machine) == expected[start]?[verdict], "\(start), \(verdict)")
        var (stale, _, time) = try Self.circuit(start)
        let before = Self.word(stale)
        stale.end(stale.generation &- 1, verdict, duration: .zero, now: time, unit: 0.5)
        stale.end(nil, verdict, duration: .zero, now: time, unit: 0.5)
        #expect(Self.word(stale) == before, "a straggler, \(start), \(verdict)")
      }
    }
  }

  @Test("probes that all succeed close it, and what was counted before is forgotten")
  func closes() throws {
    var (machine, admitted, now) = try Self.circuit(.spent)
    for _ in 0..<2 { machine.end(admitted, .success, duration: .zero, now: now, unit: 0.5) }
    #expect(machine.phase == .closed)
    for _ in 0..<3 { machine.end(machine.generation, .failure, duration: .zero, now: now, unit: 0.5) }
    #expect(machine.phase == .closed)
  }

  @Test("each failed recovery doubles its time, up to the maximum; success starts anew; a Retry-After is longer")
  func breaks() throws {
    var (machine, _, now) = try Self.circuit(.open)
    var lengths: [Duration] = []
    for _ in 0..<5 {
      guard case .open(let until) = machine.phase else { throw Unexpected() }
      lengths.append(until - now)
      now = until
      guard case .admitted(let generation) = machine.ask(now: now) else { throw Unexpected() }
      machine.end(generation, .failure, duration: .zero, now: now, unit: 0.5)
    }
    #expect(lengths == [5, 20, 40, 60, 60].map { Duration.seconds($0) })
    var asked = CircuitMachine(try Self.policy())
    for _ in 0..<4 {
      asked.end(0, .failure, duration: .zero, now: .zero, retryAfter: .seconds(90), unit: 0.5)
    }
    #expect(asked.phase == .open(until: .seconds(90)))
  }

  @Test("probes without a verdict for one break are issued anew, and become stragglers")
  func lostProbes() throws {
    var (machine, lost, now) = try Self.circuit(.spent)
    now += .seconds(10)
    guard case .admitted(let generation) = machine.ask(now: now) else { throw Unexpected() }
    #expect(generation != lost)
    machine.end(lost, .failure, duration: .zero, now: now, unit: 0.5)
    #expect(Self.word(machine) == "half-open 1/0")
  }

  @Test("forced: open refuses, closed counts nothing, observing lets all through and changes as it would")
  func forced() throws {
    var machine = CircuitMachine(try Self.policy())
    machine.forced = .open
    #expect(machine.ask(now: .zero) == .refused(retryAfter: .seconds(10)))
    machine.forced = .closed
    #expect(machine.ask(now: .zero) == .admitted(nil))
    machine.forced = .observing
    for _ in 0..<4 {
      guard case .admitted(let generation) = machine.ask(now: .zero) else { throw Unexpected() }
      machine.end(generation, .failure, duration: .zero, now: .zero, unit: 0.5)
    }
    #expect(Self.word(machine) == "open until 10 s")
    #expect(machine.ask(now: .seconds(1)) == .admitted(nil))
  }

  @Test("slow attempts open it; a slow probe has failed")
  func slow() throws {
    let policy = try CircuitBreakerPolicy(
      minimumCalls: 2, slowCallDuration: .seconds(1), slowCallRatio: 0.5, breakDuration: .seconds(10), probes: 1)
    var machine = CircuitMachine(policy)
    machine.end(0, .success, duration: .zero, now: .zero, unit: 0.5)
    machine.end(0, .success, duration: .seconds(2), now: .zero, unit: 0.5)
    #expect(Self.word(machine) == "open until 10 s")
    guard case .admitted(let generation) = machine.ask(now: .seconds(10)) else { throw Unexpected() }
    machine.end(generation, .success, duration: .seconds(2), now: .seconds(12), unit: 0.5)
    #expect(Self.word(machine) == "open until 32 s")
  }

  @Test("a quiet window leaves stale counts out; a window of calls keeps the last ones")
  func windows() {
    var time = CircuitWindow(.time(.seconds(10)))
    for second in 0..<10 { time.add(failed: true, slow: false, now: .seconds(second)) }
    #expect(time.counts(now: .seconds(9)).failures == 10)
    #expect(time.counts(now: .seconds(14)).failures == 5)
    #expect(time.counts(now: .seconds(3600)).failures == 0)
    var calls = CircuitWindow(.calls(3))
    for failed in [true, true, false, false] { calls.add(failed: failed, slow: failed, now: .zero) }
    #expect(calls.counts(now: .seconds(3600)) == .init(calls: 3, failures: 1, slow: 1))
  }

  @Test("random histories: never more probes out than allowed, and none is lost")
  func histories() throws {
    for seed in 0..<10_000 {
      let random = RandomSource.seeded(UInt64(seed))
      let policy = try Self.policy()
      var machine = CircuitMachine(policy)
      var out: [(generation: UInt64?, began: Duration)] = []
      var now = Duration.zero
      for _ in 0..<60 {
        now += .milliseconds(Int(random.next() % 4_000))
        if out.isEmpty || random.next() % 2 == 0 {
          if case .admitted(let generation) = machine.ask(now: now) { out.append((generation, now)) }
        } else {
          let ended = out.remove(at: Int(random.next() % UInt64(out.count)))
          let verdict = AttemptVerdict.allCases[Int(random.next() % 3)]
          machine.end(ended.generation, verdict, duration: now - ended.began, now: now, unit: random.unit())
        }
        if case .halfOpen(let issued, let successes, _) = machine.phase {
          let probing = out.count { $0.generation == machine.generation }
          guard probing + successes == issued && issued <= policy.probes else { throw LostPermit(seed: seed) }
        }
      }
      // Whatever came before: with time and success it closes.
      for _ in 0..<20 {
        now += .seconds(70)
        if case .admitted(let generation) = machine.ask(now: now) {
          machine.end(generation, .success, duration: .zero, now: now, unit: 0)
        }
      }
      guard machine.phase == .closed else { throw LostPermit(seed: seed) }
    }
  }
}
