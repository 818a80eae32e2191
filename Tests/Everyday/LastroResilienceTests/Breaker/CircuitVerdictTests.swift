// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// Tests of verdicts of other instances in every phase of a circuit.
@Suite("Circuit breaker that hears of other instances", .ownThread)
struct CircuitVerdictTests {
  private enum Situation: String, CaseIterable {
    case unused, working, failing, busy, busyFailing, open, due, halfOpen, recovered
  }

  private enum Event: String, CaseIterable {
    case opened, openedForLong, closed, same
  }

  private struct Unexpected: Error {}

  private static let now = Duration.seconds(100)

  private static func circuit(_ situation: Situation) throws -> CircuitMachine {
    let policy = CircuitBreakerPolicy(minimumCalls: 10, breakDuration: .seconds(10), probes: 1)
    var machine = CircuitMachine(policy)
    func end(_ verdict: AttemptVerdict, _ count: Int, _ time: Duration = now) {
      for _ in 0..<count { machine.end(machine.generation, verdict, duration: .zero, now: time, unit: 0) }
    }
    switch situation {
    case .unused: break
    case .working: end(.success, 3)
    case .failing: end(.failure, 1)
    case .busy:
      end(.success, 20)
      end(.failure, 2)
    case .busyFailing:
      end(.success, 20)
      end(.failure, 3)
    case .open: end(.failure, 10, now - .seconds(5))
    case .due: end(.failure, 10, now - .seconds(9))
    case .halfOpen, .recovered:
      end(.failure, 10, now - .seconds(20))
      guard case .admitted = machine.ask(now: now) else { throw Unexpected() }
      if situation == .recovered { end(.success, 1) }
    }
    // The verdict of number 7 was heard before.
    return machine
  }

  private static func verdict(_ event: Event) -> CircuitVerdict {
    switch event {
    case .opened: CircuitVerdict(id: 1, isOpen: true, left: .seconds(4))
    case .openedForLong: CircuitVerdict(id: 1, isOpen: true, left: .seconds(3600))
    case .closed: CircuitVerdict(id: 1, isOpen: false, left: .zero)
    case .same: CircuitVerdict(id: 0, isOpen: true, left: .seconds(4))
    }
  }

  private static func word(_ machine: CircuitMachine) -> String {
    let turn = machine.needsTurn(now: now) ? ", turn" : ""
    return switch machine.phase {
    case .closed: "closed"
    case .open(let until): "\((until - now).brief)\(machine.isOpenByOther ? " by other" : "")\(turn)"
    case .halfOpen: "half-open"
    }
  }

  @Test("Each verdict in each situation has the outcome of the table")
  func table() throws {
    var rows: [String] = []
    for situation in Situation.allCases {
      let cells = try Event.allCases.map { event in
        var machine = try Self.circuit(situation)
        if event == .same {
          // What was heard once, in whatever phase, changes nothing later.
          machine.hear(Self.verdict(event), now: Self.now - .seconds(1), unit: 1)
          let before = machine.phase
          machine.hear(Self.verdict(event), now: Self.now, unit: 1)
          return "same: \(machine.phase == before ? "nothing" : "CHANGED")"
        }
        machine.hear(Self.verdict(event), now: Self.now, unit: 1)
        return "\(event.rawValue): \(Self.word(machine))"
      }
      rows.append("\(situation.rawValue): \(cells.joined(separator: "; "))")
    }
    #expect(rows.joined(separator: "\n") == Self.expected, "\n\(rows.joined(separator: "\n"))")
  }

  private static let expected = """
    unused: opened: 4 s by other; openedForLong: 11 s by other; closed: closed; same: nothing
    working: opened: closed; openedForLong: closed; closed: closed; same: nothing
    failing: opened: 4 s by other; openedForLong: 11 s by other; closed: closed; same: nothing
    busy: opened: closed; openedForLong: closed; closed: closed; same: nothing
    busyFailing: opened: 4 s by other; openedForLong: 11 s by other; closed: closed; same: nothing
    open: opened: 4 s; openedForLong: 11 s by other; closed: half-open; same: nothing
    due: opened: 4 s by other; openedForLong: 11 s by other; closed: half-open; same: nothing
    halfOpen: opened: half-open; openedForLong: half-open; closed: half-open; same: nothing
    recovered: opened: closed; openedForLong: closed; closed: closed; same: nothing
    """

  @Test("A hint that own successes contradict is obeyed once own attempts fail, and no second time after its break")
  func contradicted() throws {
    var machine = try Self.circuit(.working)
    let hint = CircuitVerdict(id: 1, isOpen: true, left: .seconds(60))
    machine.hear(hint, now: Self.now, unit: 1)
    #expect(machine.phase == .closed)
    machine.end(machine.generation, .failure, duration: .zero, now: Self.now, unit: 0)
    machine.hear(hint, now: Self.now, unit: 1)
    #expect(machine.isOpenByOther)
    let later = Self.now + .seconds(12)
    machine.hear(hint, now: later, unit: 1)
    #expect(machine.needsTurn(now: later))
    guard case .admitted(let generation) = machine.ask(now: later) else { throw Unexpected() }
    machine.end(generation, .success, duration: .zero, now: later, unit: 1)
    machine.hear(hint, now: later, unit: 1)
    #expect(machine.phase == .closed)
  }

  @Test("After own probes succeeded, an instance believes no opening for the length of its window unless attempts fail")
  func recovered() throws {
    var machine = try Self.circuit(.recovered)
    func hint(_ id: UInt64) -> CircuitVerdict { CircuitVerdict(id: id, isOpen: true, left: .seconds(4)) }
    machine.hear(hint(2), now: Self.now + .seconds(29), unit: 0)
    #expect(machine.phase == .closed)
    machine.hear(hint(3), now: Self.now + .seconds(30), unit: 0)
    #expect(machine.isOpenByOther)
  }

  @Test("A closing of another instance does not shorten the time for which the server asked this one to wait")
  func retryAfter() throws {
    var machine = try Self.circuit(.unused)
    for _ in 0..<10 {
      machine.end(0, .failure, duration: .zero, now: Self.now, retryAfter: .seconds(90), unit: 0)
    }
    machine.hear(CircuitVerdict(id: 1, isOpen: false, left: .zero), now: Self.now + .seconds(89), unit: 0)
    #expect(machine.isOpen)
    machine.hear(CircuitVerdict(id: 2, isOpen: false, left: .zero), now: Self.now + .seconds(90), unit: 0)
    #expect(!machine.isOpen)
  }

  @Test("Whatever others report, an instance probes itself after its longest break, in 10,000 random histories")
  func limit() throws {
    var longest = Duration.zero, forced = 0
    for seed in 0..<10_000 / SeedStride.value {
      let random = RandomSource.seeded(UInt64(seed))
      var machine = try Self.circuit(.unused)
      var now = Self.now, offSince: Duration?
      for id in 1...200 {
        now += .milliseconds(Int(random.next() % 2_000))
        let verdict = CircuitVerdict(
          id: UInt64(id), isOpen: random.next() % 8 > 0, left: .milliseconds(Int(random.next() % 90_000)))
        machine.hear(verdict, now: now, unit: random.unit())
        guard machine.isOpen else {
          offSince = nil
          if case .admitted(let generation) = machine.ask(now: now) {
            let verdict: AttemptVerdict = random.next() % 2 == 0 ? .success : .failure
            machine.end(generation, verdict, duration: .zero, now: now, unit: random.unit())
          }
          continue
        }
        let start = offSince ?? now
        offSince = start
        // Nobody gives this instance its turn.
        if machine.state(now: now) == .halfOpen, !machine.needsTurn(now: now) {
          offSince = nil
          forced += 1
          guard case .admitted(let generation) = machine.ask(now: now) else { throw Unexpected() }
          machine.end(generation, .failure, duration: .zero, now: now, unit: random.unit())
        }
        longest = max(longest, now - start)
      }
    }
    // Attempts are at most 2 s apart.
    #expect(longest <= .seconds(60 + 2) && longest > .seconds(30) && forced > 0, "\(longest), \(forced)")
  }

  @Test("Probes that hang for a whole break are given up, and the next ones need a turn")
  func hungProbes() throws {
    var machine = try Self.circuit(.halfOpen)
    #expect(!machine.needsTurn(now: Self.now))
    #expect(!machine.needsTurn(now: Self.now + .milliseconds(9_999)))
    #expect(machine.needsTurn(now: Self.now + .seconds(10)))
    // Others keep it from probing for the longest break of its policy, 60 s.
    #expect(machine.needsTurn(now: Self.now + .milliseconds(59_999)))
    #expect(!machine.needsTurn(now: Self.now + .seconds(60)))
    guard case .admitted = machine.ask(now: Self.now + .seconds(10)) else { throw Unexpected() }
    #expect(!machine.needsTurn(now: Self.now + .seconds(10)))
  }
}
