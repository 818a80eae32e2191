// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroResilience
import Testing

@testable import LastroFleet

@Suite("Decisions about a shared circuit")
struct VerdictMachineTests {
  /// The state of an instance before an event.
  private enum Situation: String, CaseIterable {
    case new, exchanging, calm, hinted, closedByOther, own, reporting, turn, otherProbes, lost
  }

  private enum Event: String, CaseIterable {
    case attempt, failure, openAttempt, opened, closed, askTurn, later, exchanged, failed
  }

  private static let start = Duration.seconds(-10)

  private struct Unexpected: Error {}

  private static func machine(_ situation: Situation) throws -> VerdictMachine {
    var machine = VerdictMachine(instance: "a", now: start)
    if situation == .new { return machine }
    if situation == .reporting { machine.report(.opened(left: .seconds(5)), now: start) }
    if situation == .turn || situation == .otherProbes { _ = machine.askTurn(for: .seconds(5), now: start) }
    guard let request = machine.exchange(now: start) else { throw Unexpected() }
    var reply = VerdictRecord.Reply()
    switch situation {
    case .exchanging, .reporting: return machine
    case .lost: machine.failed(request, isLost: true, start: start, now: start, jitter: 0.5)
    case .hinted, .own:
      reply.verdict = CircuitVerdict(id: 7, isOpen: true, left: .seconds(4))
      reply.isOwn = situation == .own
    case .closedByOther: reply.verdict = CircuitVerdict(id: 8, isOpen: false, left: .zero)
    case .turn: reply.turn = .taken
    case .otherProbes: reply.turn = .other(left: .seconds(5))
    case .new, .calm: break
    }
    if situation != .lost { machine.exchanged(request, reply, start: start, now: start, jitter: 0.5) }
    return machine
  }

  private static func words(_ request: VerdictRecord.Request?) -> String {
    guard let request else { return "none" }
    var words = "exchange"
    switch request.report {
    case .opened(let left): words += " opened \(left.brief)"
    case .closed: words += " closed"
    case nil: break
    }
    if let turn = request.turn { words += " turn \(turn.brief)" }
    return words + (request.known.map { " knows \($0)" } ?? "")
  }

  private static func outcome(_ event: Event, _ machine: inout VerdictMachine) -> String {
    let now = start + .seconds(1)
    switch event {
    case .attempt, .openAttempt:
      let verdict = machine.attempt(isClosed: event == .attempt, now: now)
      let heard = verdict.map { "\($0.id) \($0.isOpen ? $0.left.brief : "closed")" } ?? "nothing"
      return "\(heard), then \(words(machine.exchange(now: start + .seconds(2.1))))"
    case .failure:
      machine.attemptFailed()
      return words(machine.exchange(now: start + .seconds(2.1)))
    case .opened:
      machine.report(.opened(left: .seconds(3)), now: now)
      return words(machine.exchange(now: now))
    case .closed:
      machine.report(.closed, now: now)
      return words(machine.exchange(now: now))
    case .askTurn:
      let turn = machine.askTurn(for: .seconds(5), now: start + .milliseconds(500))
      return "\(turn.map { "\($0)".prefix { $0 != "(" } } ?? "unknown"), \(words(machine.exchange(now: now)))"
    case .later: return words(machine.exchange(now: start + .seconds(5.6)))
    case .exchanged:
      let verdict = CircuitVerdict(id: 9, isOpen: true, left: .seconds(100_000))
      let request = VerdictRecord.Request(instance: "a")
      machine.exchanged(request, .init(verdict: verdict), start: now, now: now, jitter: 0.5)
      return machine.attempt(isClosed: true, now: now)?.left.brief ?? "nothing"
    case .failed:
      let request = VerdictRecord.Request(instance: "a", report: .closed)
      machine.failed(request, isLost: true, start: now, now: now, jitter: 0.5)
      let turn = machine.askTurn(for: .seconds(5), now: now)
      return "\(turn == .taken ? "probes alone" : "waits"), later \(words(machine.exchange(now: now + .seconds(2))))"
    }
  }

  @Test("Each event in each situation has the outcome of the table")
  func table() throws {
    var rows: [String] = []
    for situation in Situation.allCases {
      let cells = try Event.allCases.map { event in
        var machine = try Self.machine(situation)
        return "\(event.rawValue): \(Self.outcome(event, &machine))"
      }
      rows.append("\(situation.rawValue): \(cells.joined(separator: "; "))")
    }
    #expect(rows.joined(separator: "\n") == Self.expected, "\n\(rows.joined(separator: "\n"))")
  }

  private static let expected = """
    new: attempt: nothing, then exchange; failure: exchange; openAttempt: nothing, then exchange; opened: exchange opened 3 s; closed: exchange closed; askTurn: unknown, exchange turn 5 s; later: exchange; exchanged: 3600 s; failed: probes alone, later exchange closed
    exchanging: attempt: nothing, then none; failure: none; openAttempt: nothing, then none; opened: none; closed: none; askTurn: unknown, none; later: none; exchanged: 3600 s; failed: probes alone, later exchange closed
    calm: attempt: nothing, then none; failure: exchange; openAttempt: nothing, then exchange; opened: exchange opened 3 s; closed: exchange closed; askTurn: unknown, exchange turn 5 s; later: exchange; exchanged: 3600 s; failed: probes alone, later exchange closed
    hinted: attempt: 7 3 s, then none; failure: exchange knows 7; openAttempt: 7 3 s, then exchange knows 7; opened: exchange opened 3 s knows 7; closed: exchange closed knows 7; askTurn: unknown, exchange turn 5 s knows 7; later: exchange knows 7; exchanged: 3600 s; failed: probes alone, later exchange closed knows 7
    closedByOther: attempt: 8 closed, then none; failure: exchange knows 8; openAttempt: 8 closed, then exchange knows 8; opened: exchange opened 3 s knows 8; closed: exchange closed knows 8; askTurn: unknown, exchange turn 5 s knows 8; later: exchange knows 8; exchanged: 3600 s; failed: probes alone, later exchange closed knows 8
    own: attempt: nothing, then none; failure: exchange knows 7; openAttempt: nothing, then exchange knows 7; opened: exchange opened 3 s knows 7; closed: exchange closed knows 7; askTurn: unknown, exchange turn 5 s knows 7; later: exchange knows 7; exchanged: 3600 s; failed: probes alone, later exchange closed knows 7
    reporting: attempt: nothing, then none; failure: none; openAttempt: nothing, then none; opened: none; closed: none; askTurn: unknown, none; later: none; exchanged: 3600 s; failed: probes alone, later exchange closed
    turn: attempt: nothing, then none; failure: exchange; openAttempt: nothing, then exchange; opened: exchange opened 3 s; closed: exchange closed; askTurn: taken, none; later: exchange; exchanged: 3600 s; failed: probes alone, later exchange closed
    otherProbes: attempt: nothing, then none; failure: exchange; openAttempt: nothing, then exchange; opened: exchange opened 3 s; closed: exchange closed; askTurn: other, none; later: exchange; exchanged: 3600 s; failed: probes alone, later exchange closed
    lost: attempt: nothing, then exchange; failure: exchange; openAttempt: nothing, then exchange; opened: none; closed: none; askTurn: taken, none; later: exchange; exchanged: 3600 s; failed: probes alone, later exchange closed
    """

  @Test("A verdict that arrives while an own one is on its way is not passed on")
  func newer() throws {
    var machine = try Self.machine(.exchanging)
    machine.report(.opened(left: .seconds(5)), now: Self.start)
    let verdict = CircuitVerdict(id: 9, isOpen: false, left: .zero)
    let request = VerdictRecord.Request(instance: "a")
    machine.exchanged(request, .init(verdict: verdict), start: Self.start, now: Self.start, jitter: 0.5)
    #expect(machine.attempt(isClosed: false, now: Self.start) == nil)
    let next = machine.exchange(now: Self.start)
    #expect(next?.report == .opened(left: .seconds(5)))
  }

  @Test("A closing that is reported again names the circuit that was probed, whatever an exchange in between finds")
  func repeatedClosing() throws {
    var machine = try Self.machine(.hinted)
    guard let poll = machine.exchange(now: Self.start + .seconds(6)) else { throw Unexpected() }
    machine.report(.closed, now: Self.start + .seconds(6))
    let verdict = CircuitVerdict(id: 9, isOpen: true, left: .seconds(5))
    machine.exchanged(
      poll, .init(verdict: verdict), start: Self.start, now: Self.start + .seconds(6), jitter: 0.5)
    for second in [7, 600, 1200] {
      let now = Self.start + .seconds(second)
      guard let request = machine.exchange(now: now) else { throw Unexpected() }
      #expect(request.report == .closed && request.known == 7, "\(request)")
      machine.failed(request, isLost: true, start: now, now: now, jitter: 0.5)
    }
  }

  @Test("A closing from before an own opening is not passed on after it", arguments: [false, true])
  func older(_ isPending: Bool) throws {
    var machine = try Self.machine(.closedByOther)
    machine.report(.opened(left: .seconds(5)), now: Self.start)
    if isPending { _ = machine.exchange(now: Self.start) }
    #expect(machine.attempt(isClosed: false, now: Self.start) == nil)
  }

  @Test("An instance that asks as often as it may exchanges once in 5 s, and once in 2 s while attempts fail")
  func bound() throws {
    for (isFailing, range) in [(false, 60...67), (true, 145...151)] {
      let random = RandomSource.seeded(1)
      var machine = VerdictMachine(instance: "a", now: .zero)
      var exchanges = 0
      for step in 0..<30_000 {
        let now = Duration.milliseconds(10 * step)
        _ = machine.attempt(isClosed: true, now: now)
        if isFailing { machine.attemptFailed() }
        guard let request = machine.exchange(now: now) else { continue }
        exchanges += 1
        machine.exchanged(request, .init(), start: now, now: now, jitter: random.unit())
      }
      #expect(range.contains(exchanges), "\(exchanges)")
    }
  }

  @Test("A machine is forgotten ten minutes after its last attempt")
  func forgotten() throws {
    var machine = try Self.machine(.calm)
    _ = machine.attempt(isClosed: true, now: .zero)
    #expect(!machine.mayBeForgotten(now: .seconds(600)) && machine.mayBeForgotten(now: .seconds(601)))
  }

  @Test("An exchange that is wanted is due although the caller has read the clock before another exchange ended")
  func earlierClock() throws {
    var machine = VerdictMachine(instance: "a", now: .seconds(10))
    guard let first = machine.exchange(now: .seconds(9)) else { throw Unexpected() }
    machine.exchanged(first, VerdictRecord.Reply(), start: .seconds(9), now: .seconds(11), jitter: 0)
    let early = machine.exchange(now: .seconds(10))
    #expect(early == nil)
    let turn = machine.askTurn(for: .seconds(5), now: .seconds(10))
    #expect(turn == nil)
    guard let second = machine.exchange(now: .seconds(10)) else { throw Unexpected() }
    #expect(second.turn == .seconds(5))
    machine.exchanged(second, VerdictRecord.Reply(), start: .seconds(10), now: .seconds(12), jitter: 0)
    machine.report(.closed, now: .seconds(11))
    let report = machine.exchange(now: .seconds(11))?.report
    #expect(report != nil)
  }
}
