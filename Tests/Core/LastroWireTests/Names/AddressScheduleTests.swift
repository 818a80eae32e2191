// SPDX-License-Identifier: Apache-2.0

import LastroWire
import Testing

@Suite("Schedule of addresses to dial")
struct AddressScheduleTests {
  private static let stagger = AddressSchedule.stagger

  /// Starts all addresses that are due, and returns them.
  private static func begun(_ schedule: inout AddressSchedule, now: Int64) -> [String] {
    var result: [String] = []
    while let address = schedule.next(now: now) { result.append(address) }
    return result
  }

  /// Returns the order in which addresses are started, each when it is due.
  private static func order(_ addresses: [String], dead: Set<String> = []) -> [String] {
    var schedule = AddressSchedule()
    schedule.add(addresses, isComplete: true) { dead.contains($0) }
    var result: [String] = []
    while let address = schedule.next(now: max(schedule.due, 0)) { result.append(address) }
    return result
  }

  @Test("Address families alternate, starting with the first address's, and dead addresses come last")
  func orders() {
    #expect(Self.order(["::1", "::2", "::3", "1.1.1.1", "2.2.2.2"]) == ["::1", "1.1.1.1", "::2", "2.2.2.2", "::3"])
    #expect(Self.order(["1.1.1.1", "2.2.2.2", "::1"]) == ["1.1.1.1", "::1", "2.2.2.2"])
    #expect(Self.order(["1.1.1.1", "1.1.1.1"]) == ["1.1.1.1"])
    #expect(Self.order(["::1", "::2", "1.1.1.1"], dead: ["::1"]) == ["::2", "1.1.1.1", "::1"])
    #expect(Self.order(["::1", "1.1.1.1"], dead: ["::1", "1.1.1.1"]) == ["::1", "1.1.1.1"])
    let many = (0..<100).map { "10.0.0.\($0)" }
    #expect(Self.order(many) == Array(many.prefix(AddressSchedule.most)))
  }

  @Test("Each attempt starts 250 ms after the previous one, or at once when one fails")
  func times() {
    var schedule = AddressSchedule()
    #expect(schedule.due == .max)
    schedule.add(["1", "2", "3", "4"], isComplete: true)
    #expect(Self.begun(&schedule, now: 1_000) == ["1"])
    #expect(schedule.due == 1_000 + Self.stagger)
    #expect(Self.begun(&schedule, now: 999 + Self.stagger) == [])
    #expect(Self.begun(&schedule, now: 1_000 + Self.stagger) == ["2"])
    schedule.attemptFailed("1")
    #expect(Self.begun(&schedule, now: 1_001 + Self.stagger) == ["3"])
    // Each failure starts one further address.
    #expect(Self.begun(&schedule, now: 1_002 + Self.stagger) == [])
    schedule.attemptFailed("3")
    #expect(Self.begun(&schedule, now: 1_003 + Self.stagger) == ["4"])
    #expect(schedule.due == .max)
    schedule.attemptFailed("2")
    #expect(schedule.state == .going)
    schedule.attemptFailed("4")
    #expect(schedule.state == .failed)
  }

  @Test("Late addresses join the queue, and a dial with only failures waits for them")
  func lateAnswers() {
    var schedule = AddressSchedule()
    schedule.add(["1.1.1.1", "2.2.2.2"], isComplete: false)
    #expect(Self.begun(&schedule, now: 0) == ["1.1.1.1"])
    schedule.add(["::1", "1.1.1.1"], isComplete: false)
    #expect(schedule.waiting == ["::1", "2.2.2.2"])
    schedule.attemptFailed("1.1.1.1")
    #expect(Self.begun(&schedule, now: 0) == ["::1"])
    schedule.attemptFailed("::1")
    #expect(Self.begun(&schedule, now: 0) == ["2.2.2.2"])
    schedule.attemptFailed("2.2.2.2")
    #expect(schedule.state == .going)
    schedule.add(["::2"], isComplete: true)
    #expect(Self.begun(&schedule, now: 0) == ["::2"])
    // The list was already complete, so a further address is ignored.
    schedule.add(["::3"], isComplete: true)
    schedule.attemptFailed("::2")
    #expect(schedule.state == .failed)
  }

  @Test("Addresses started long before the winner are reported as slow")
  func slowOnes() {
    var schedule = AddressSchedule()
    schedule.add(["1", "2", "3"], isComplete: true)
    #expect(schedule.next(now: 0) == "1")
    #expect(schedule.next(now: Self.stagger) == "2")
    schedule.attemptFailed("2")
    #expect(schedule.next(now: Self.stagger + 1) == "3")
    #expect(schedule.attemptSucceeded("3") == ["1"])
    #expect(schedule.state == .won("3"))
    #expect(Set(schedule.running.keys) == ["1"])
  }

  private enum Event: CaseIterable {
    case more, last, next, failed, refused, won, strange, cancel

    func apply(to schedule: inout AddressSchedule) {
      switch self {
      case .more: schedule.add(["a1", "b1"], isComplete: false)
      case .last: schedule.add(["a2"], isComplete: true)
      case .next: _ = schedule.next(now: max(0, schedule.due == .max ? 0 : schedule.due))
      case .failed: schedule.running.keys.min().map { schedule.attemptFailed($0) }
      case .refused: schedule.running.keys.min().map { schedule.attemptFailed($0, isFinal: true) }
      case .won: schedule.running.keys.min().map { _ = schedule.attemptSucceeded($0) }
      case .strange:
        schedule.attemptFailed("unknown", isFinal: true)
        _ = schedule.attemptSucceeded("unknown")
      case .cancel: schedule.cancel()
      }
    }
  }

  @Test("In any order of events an end is reached, is final, and no attempt starts after it")
  func everyHistory() {
    var histories: [[Event]] = [[]]
    for _ in 0..<5 { histories = histories.flatMap { history in Event.allCases.map { history + [$0] } } }
    for history in histories {
      var schedule = AddressSchedule()
      for event in history {
        let before = schedule
        event.apply(to: &schedule)
        if before.state != .going {
          #expect(schedule.state == before.state && schedule.running == before.running, "\(history)")
        }
        #expect(Set(schedule.waiting).isDisjoint(with: schedule.running.keys))
        if schedule.state != .going {
          #expect(schedule.due == .max && schedule.waiting.isEmpty && schedule.next(now: .max) == nil, "\(history)")
        }
      }
      // No further address is expected.
      schedule.add([], isComplete: true)
      while schedule.next(now: .max) != nil || !schedule.running.isEmpty, schedule.state == .going {
        schedule.running.keys.min().map { schedule.attemptFailed($0) }
      }
      #expect(schedule.state != .going, "\(history)")
    }
  }

  @Test("An address is considered dead for 10 minutes, and 1,024 are remembered")
  func deadAddresses() {
    var dead = DeadAddresses<String>()
    let lifetime = DeadAddresses<String>.lifetime
    dead.note("1", now: 5)
    #expect(dead.contains("1", now: 4 + lifetime))
    #expect(!dead.contains("1", now: 5 + lifetime))
    #expect(!dead.contains("2", now: 5))
    dead.forget("1")
    #expect(!dead.contains("1", now: 5))
    for index in 0..<2_000 { dead.note("a\(index)", now: Int64(index)) }
    #expect(dead.count == DeadAddresses<String>.most)
    #expect(!dead.contains("a900", now: 2_000))
    #expect(dead.contains("a1999", now: 2_000))
    // Entries that have expired are removed first.
    dead.note("b", now: 3_000 + lifetime)
    #expect(dead.count == 1)
  }

  @Test("Names of this machine, and names that never exist, are recognised")
  func specialNames() {
    for name in ["localhost", "a.localhost", "a.b.localhost"] { #expect(SpecialName(name) == .loopback) }
    for name in ["invalid", "a.invalid", "onion", "abc.onion"] { #expect(SpecialName(name) == .missing) }
    for name in ["localhost.test", "notlocalhost", "invalid.test", "onions", "a.test"] {
      #expect(SpecialName(name) == nil)
    }
  }
}
