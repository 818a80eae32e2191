// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// Tests of every state with every event.
@Suite("Circuit breaker state machine", .ownThread)
struct CircuitMachineTests {
  /// Returns the policy of a circuit that opens at 2 failures in 4 calls, for 10 s, and that needs 2 probes.
  private static func policy() throws -> CircuitBreakerPolicy {
    CircuitBreakerPolicy(minimumCalls: 4, failureRatio: 0.5, breakDuration: .seconds(10), probes: 2)
  }

  private enum Start: String, CaseIterable {
    case closed, open, due, probing, spent
  }

  /// Returns a circuit in a phase, the generation of the attempt that is under way in it, and the time.
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

  /// An error that reports a history in which a rule is broken.
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

  @Test("A request is admitted or refused in every phase as expected")
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

  @Test("An outcome in every phase, of the current and of an older generation, has the expected effect")
  func ended() throws {
    let expected: [Start: [AttemptVerdict: String]] = [
      .closed: [.success: "closed", .failure: "closed", .ignored: "closed"],
      .open: [.success: "open until 10 s", .failure: "open until 10 s", .ignored: "open until 10 s"],
      .due: [.success: "open until 10 s", .failure: "open until 10 s", .ignored: "open until 10 s"],
      .probing: [.success: "half-open 1/1", .failure: "open until 21 s", .ignored: "half-open 0/0"],
      .spent: [.success: "half-open 2/1", .failure: "open until 21 s", .ignored: "half-open 1/0"],
    ]
    for start in Start.allCases {
      for verdict in AttemptVerdict.allCases {
        var (machine, admitted, now) = try Self.circuit(start)
        machine.end(admitted ?? machine.generation, verdict, duration: .zero, now: now, unit: 0.5)
        #expect(Self.word(machine) == expected[start]?[verdict], "\(start), \(verdict)")
        var (stale, _, time) = try Self.circuit(start)
        let before = Self.word(stale)
        stale.end(stale.generation &- 1, verdict, duration: .zero, now: time, unit: 0.5)
        #expect(Self.word(stale) == before, "late outcome, \(start), \(verdict)")
      }
    }
  }

  @Test("Probes that all succeed close the circuit and reset its counts")
  func closes() throws {
    var (machine, admitted, now) = try Self.circuit(.spent)
    for _ in 0..<2 { machine.end(admitted ?? machine.generation, .success, duration: .zero, now: now, unit: 0.5) }
    #expect(machine.phase == .closed)
    for _ in 0..<3 { machine.end(machine.generation, .failure, duration: .zero, now: now, unit: 0.5) }
    #expect(machine.phase == .closed)
  }

  @Test("A break is a twentieth of the outage within its limits, restarts after success, and respects Retry-After")
  func breaks() throws {
    var (machine, _, _) = try Self.circuit(.open)
    func isOpen(until time: Int) -> Bool { machine.phase == .open(until: .seconds(time)) }
    for (failure, until) in [(10, 20), (200, 210), (240, 252), (1_000, 1_050), (2_000, 2_060), (9_000, 9_060)] {
      guard case .admitted(let generation) = machine.ask(now: .seconds(failure)) else { throw Unexpected() }
      machine.end(generation, .failure, duration: .zero, now: .seconds(failure), unit: 0.5)
      #expect(isOpen(until: until), "\(failure): \(machine.phase)")
    }
    for _ in 0..<2 {
      guard case .admitted(let generation) = machine.ask(now: .seconds(9_100)) else { throw Unexpected() }
      machine.end(generation, .success, duration: .zero, now: .seconds(9_100), unit: 0.5)
    }
    for _ in 0..<4 { machine.end(machine.generation, .failure, duration: .zero, now: .seconds(9_200), unit: 0.5) }
    #expect(isOpen(until: 9_210))
    var asked = CircuitMachine(try Self.policy())
    for _ in 0..<4 {
      asked.end(0, .failure, duration: .zero, now: .zero, retryAfter: .seconds(90), unit: 0.5)
    }
    #expect(asked.phase == .open(until: .seconds(90)))
  }

  @Test("The length of a break varies randomly by a tenth")
  func jitter() throws {
    for (unit, until) in [(0.0, 9_000), (0.25, 9_500), (1, 11_000)] {
      var machine = CircuitMachine(try Self.policy())
      for _ in 0..<4 { machine.end(0, .failure, duration: .zero, now: .zero, unit: unit) }
      guard case .open(let time) = machine.phase else { throw Unexpected() }
      #expect(abs((time - .milliseconds(until)).inSeconds) < 0.001)
    }
  }

  @Test(
    "Consecutive failures without success for a second open the circuit, whatever their share",
    arguments: [
      (20, 1_000, nil, 20, true), (19, 1_000, nil, 20, false), (20, 999, nil, 20, false), (30, 5_000, nil, 20, true),
      (30, 5_000, 15, 20, false), (30, 5_000, 5, 20, true), (30, 5_000, nil, nil, false), (5, 5_000, nil, 5, true),
    ] as [(Int, Int, Int?, Int?, Bool)])
  func rows(failures: Int, milliseconds: Int, success: Int?, limit: Int?, opens: Bool) throws {
    var machine = CircuitMachine(CircuitBreakerPolicy(minimumCalls: 20, consecutiveFailures: limit))
    for _ in 0..<1_000 { machine.end(0, .success, duration: .zero, now: .zero, unit: 0.5) }
    for index in 0..<failures {
      let now = Duration.milliseconds(100 + milliseconds * index / (failures - 1))
      machine.end(0, .failure, duration: .zero, now: now, unit: 0.5)
      // An ignored outcome does not interrupt a series of failures.
      machine.end(0, index == success ? .success : .ignored, duration: .zero, now: now, unit: 0.5)
    }
    #expect((machine.phase != .closed) == opens, "\(machine.phase)")
  }

  @Test("Consecutive failures do not count while the window has too few attempts")
  func rowOfFew() throws {
    var machine = CircuitMachine(.standard)
    for minute in 0..<60 { machine.end(0, .failure, duration: .zero, now: .seconds(60 * minute), unit: 0.5) }
    #expect(machine.phase == .closed)
  }

  @Test("Probes without an outcome for one break are issued again, and late outcomes of the old ones are ignored")
  func lostProbes() throws {
    var (machine, lost, now) = try Self.circuit(.spent)
    now += .seconds(10)
    guard case .admitted(let generation) = machine.ask(now: now) else { throw Unexpected() }
    #expect(generation != lost)
    machine.end(try #require(lost), .failure, duration: .zero, now: now, unit: 0.5)
    #expect(Self.word(machine) == "half-open 1/0")
  }

  @Test("Slow attempts open the circuit, and a slow probe has failed")
  func slow() throws {
    let policy = CircuitBreakerPolicy(
      minimumCalls: 2, slowCallDuration: .seconds(1), slowCallRatio: 0.5, breakDuration: .seconds(10), probes: 1)
    var machine = CircuitMachine(policy)
    machine.end(0, .success, duration: .zero, now: .zero, unit: 0.5)
    machine.end(0, .success, duration: .seconds(2), now: .zero, unit: 0.5)
    #expect(Self.word(machine) == "open until 10 s")
    guard case .admitted(let generation) = machine.ask(now: .seconds(10)) else { throw Unexpected() }
    machine.end(generation, .success, duration: .seconds(2), now: .seconds(12), unit: 0.5)
    #expect(Self.word(machine) == "open until 22 s")
  }

  @Test("A time window drops stale counts, and a window of calls keeps the last ones")
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

  @Test("In random histories no more probes run than allowed, and none is lost")
  func histories() throws {
    for seed in 0..<10_000 {
      let random = RandomSource.seeded(UInt64(seed))
      let policy = try Self.policy()
      var machine = CircuitMachine(policy)
      var out: [(generation: UInt64, began: Duration)] = []
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
      // Whatever the history was, time and successes close the circuit.
      for _ in 0..<20 {
        now += .seconds(70)
        if case .admitted(let generation) = machine.ask(now: now) {
          machine.end(generation, .success, duration: .zero, now: now, unit: 0)
        }
      }
      #expect(machine.phase == .closed, "seed \(seed)")
    }
  }
}
