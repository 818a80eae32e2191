// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroResilience
import Testing

@testable import LastroFleet

@Suite("Decisions about a shared quota")
struct QuotaMachineTests {
  /// The state of an instance before an event.
  private enum Situation: String, CaseIterable {
    case new, leased, empty, waiting, blocked, lost, left, exchanging
  }

  private enum Event: String, CaseIterable {
    case ask, admit, exchange, granted, failed, block, leave
  }

  private static let start = Duration.seconds(10)

  /// Returns an instance that owns a fifth of 50 units a second.
  private static func machine(_ situation: Situation) throws -> QuotaMachine {
    let terms = QuotaTerms(try Pacer.Pace(perSecond: 50, burst: 100), .fraction(of: 5))
    var machine = QuotaMachine(terms, instance: "a", now: start)
    if situation == .new { return machine }
    let first = machine.exchange(now: start)
    let request = try #require(first)
    if situation == .exchanging { return machine }
    let granted = situation == .leased ? 3 : 0
    if situation == .lost {
      _ = machine.failed(request, isLost: true, now: start, jitter: 0.5)
    } else {
      _ = machine.exchanged(request, .init(granted: granted), start: start, now: start, jitter: 0.5)
    }
    switch situation {
    case .empty: _ = machine.ask(now: start)
    case .waiting:
      _ = machine.ask(now: start)
      if !machine.ask(now: start) { machine.wait(1) }
    case .blocked: machine.block(for: .seconds(5), now: start)
    case .left: _ = machine.leave(now: start)
    default: break
    }
    return machine
  }

  private static func outcome(_ event: Event, _ machine: inout QuotaMachine) -> String {
    let now = start
    switch event {
    case .ask: return machine.ask(now: now) ? "sent" : "waits"
    case .admit: return "\(machine.admitted(now: now + .milliseconds(100)).count) admitted"
    case .exchange:
      guard let request = machine.exchange(now: now + .seconds(2)) else { return "none" }
      return "gives \(request.gives), wants \(request.wants)" + (request.block > .zero ? ", block" : "")
    case .granted:
      let request = QuotaRecord.Request(instance: "a", wants: 2)
      let wasLost = machine.exchanged(request, .init(granted: 2), start: now, now: now, jitter: 0.5)
      return "\(machine.available(now: now)) available" + (wasLost ? ", is back" : "")
    case .failed:
      let request = QuotaRecord.Request(instance: "a")
      return machine.failed(request, isLost: true, now: now, jitter: 0.5) ? "is lost" : "nothing new"
    case .block:
      machine.block(for: .seconds(9), now: now)
      return "\(machine.available(now: now + .seconds(8))) later, \(machine.available(now: now + .seconds(10))) then"
    case .leave:
      let request = machine.leave(now: now)
      return "gives \(request.gives), \(machine.available(now: now + .seconds(9))) available"
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
    #expect(rows.joined(separator: "\n") == Self.expected)
  }

  private static let expected = """
    new: ask: sent; admit: 0 admitted; exchange: gives 5, wants 0; granted: 3 available; failed: is lost; block: 0 later, 10 then; leave: gives 1, 0 available
    leased: ask: sent; admit: 0 admitted; exchange: gives 5, wants 0; granted: 6 available; failed: is lost; block: 0 later, 10 then; leave: gives 4, 0 available
    empty: ask: waits; admit: 0 admitted; exchange: gives 5, wants 0; granted: 2 available; failed: is lost; block: 0 later, 10 then; leave: gives 0, 0 available
    waiting: ask: waits; admit: 1 admitted; exchange: gives 0, wants 0; granted: 2 available; failed: is lost; block: 0 later, 10 then; leave: gives 0, 0 available
    blocked: ask: waits; admit: 0 admitted; exchange: gives 0, wants 0, block; granted: 0 available; failed: is lost; block: 0 later, 10 then; leave: gives 0, 0 available
    lost: ask: sent; admit: 0 admitted; exchange: gives 5, wants 0; granted: 3 available, is back; failed: nothing new; block: 0 later, 10 then; leave: gives 1, 0 available
    left: ask: waits; admit: 0 admitted; exchange: none; granted: 2 available; failed: is lost; block: 0 later, 0 then; leave: gives 0, 0 available
    exchanging: ask: sent; admit: 0 admitted; exchange: none; granted: 3 available; failed: is lost; block: 0 later, 10 then; leave: gives 1, 0 available
    """

  @Test("The parts in which units are held add up to the burst, and a lease outlasts a round trip")
  func terms() throws {
    for perSecond in [0.01, 1, 50, 100_000] {
      for burst in [1, 50, 1_000_000] {
        let pace = try Pacer.Pace(perSecond: perSecond, burst: burst)
        for whenUnshared in [WhenUnshared.fraction(of: 1), .fraction(of: 100), .wait] {
          let terms = QuotaTerms(pace, whenUnshared)
          let own = terms.ownLimit * Double(terms.instances ?? 0)
          let leased = terms.lease / .seconds(1) * perSecond
          #expect(own + terms.stockLimit + leased <= terms.burst * 1.000001)
          #expect(terms.lease >= .milliseconds(250) && terms.interval < terms.lease)
          #expect(terms.instances == nil || terms.ownLimit >= 1)
          #expect(terms.burst >= Double(burst))
        }
      }
    }
  }

  @Test("The store generates the fractions of instances that do not run, and keeps that of a silent one for an hour")
  func absence() throws {
    let terms = QuotaTerms(try Pacer.Pace(perSecond: 10, burst: 1000), .fraction(of: 2))
    var record: QuotaRecord?
    func exchange(_ request: QuotaRecord.Request, at seconds: Int) -> QuotaRecord.Reply {
      let (next, reply) = QuotaRecord.exchange(record, request, terms, at: .seconds(seconds), change: 0)
      if let next { record = next }
      return reply
    }
    // The stock begins full, with a quarter of the burst.
    #expect(exchange(.init(instance: "a", wants: 1000), at: 0).granted == 250)
    #expect(exchange(.init(instance: "b", wants: 1000), at: 10).granted == 50)
    #expect(exchange(.init(instance: "a", wants: 1000), at: 20).granted == 0)
    #expect(exchange(.init(instance: "a", wants: 1000), at: 1800).granted == 0)
    #expect(exchange(.init(instance: "a", wants: 1000), at: 3600).granted == 0)
    #expect(exchange(.init(instance: "a", wants: 1000), at: 3620).granted == 100)
    #expect(exchange(.init(instance: "a", wants: 1000), at: 3630).granted == 50)
    #expect(exchange(.init(instance: "a", isLeaving: true), at: 3631).members == 1)
    #expect(exchange(.init(instance: "c", wants: 1000), at: 3641).granted == 105)
  }

  @Test("A state ahead of the store's clock generates no units twice, and units are missing for a second at most")
  func ahead() throws {
    let terms = QuotaTerms(try Pacer.Pace(perSecond: 10, burst: 1000), .wait)
    var record = QuotaRecord(stock: 0, at: 100_000_000, members: ["a": 100_000_000])
    func granted(at seconds: Double) -> Int {
      let request = QuotaRecord.Request(instance: "a", wants: 1000)
      let (next, reply) = QuotaRecord.exchange(record, request, terms, at: .seconds(seconds), change: 0)
      if let next { record = next }
      return reply.granted
    }
    // The clock of an instance is ahead by half a second.
    #expect([100.5, 100, 100.5, 101].map(granted) == [5, 0, 0, 5])
    // The store's clock was an hour ahead.
    record.at = 3_700_000_000
    #expect([102, 102.5, 103, 104].map(granted) == [0, 0, 0, 10])
    record.at = .max
    #expect([105, 107].map(granted) == [0, 10])
  }

  @Test("A state with times that would overflow is refused")
  func negativeTimes() throws {
    let records = [QuotaRecord(stock: 0, at: .min), QuotaRecord(stock: 0, at: 0, members: ["a": .min])]
    for record in records {
      let bytes = try record.encoded()
      #expect(throws: FleetStoreError.self) { _ = try QuotaRecord.decoded(bytes) }
    }
  }

  @Test("An exchange that changes nothing is not written")
  func unchanged() throws {
    let terms = QuotaTerms(try Pacer.Pace(perSecond: 10, burst: 10), .fraction(of: 2))
    let (first, _) = QuotaRecord.exchange(nil, .init(instance: "a", wants: 9), terms, at: .seconds(1), change: 1)
    let record = try #require(first)
    #expect(record.change == 1)
    let full = QuotaRecord(stock: terms.stockLimit, at: 1_000_000, members: ["a": 1_000_000])
    #expect(QuotaRecord.exchange(full, .init(instance: "a"), terms, at: .seconds(2), change: 2).next == nil)
    #expect(QuotaRecord.exchange(full, .init(instance: "a", gives: 1), terms, at: .seconds(2), change: 2).next == nil)
    #expect(QuotaRecord.exchange(full, .init(instance: "b"), terms, at: .seconds(2), change: 2).next != nil)
    #expect(QuotaRecord.exchange(full, .init(instance: "a"), terms, at: .seconds(102), change: 2).next != nil)
    #expect(try QuotaRecord.decoded(try record.encoded()) == record)
    #expect(throws: FleetStoreError.self) { _ = try QuotaRecord.decoded(Array("{}".utf8)) }
  }

  @Test("A block lasts an hour at most, whatever a server or the store says")
  func block() throws {
    let terms = QuotaTerms(try Pacer.Pace(perSecond: 10, burst: 10), .wait)
    let request = QuotaRecord.Request(instance: "a", block: .seconds(1_000_000))
    #expect(
      QuotaRecord.exchange(nil, request, terms, at: .seconds(1), change: 1).reply.block == .seconds(3600))
    let far = QuotaRecord(stock: 0, at: 0, blockedUntil: .max / 2)
    #expect(
      QuotaRecord.exchange(far, .init(instance: "a"), terms, at: .seconds(1), change: 1).reply.block == .seconds(3600))
    var machine = QuotaMachine(terms, instance: "a", now: .zero)
    machine.block(for: .seconds(1_000_000), now: .zero)
    #expect(machine.block(now: .zero) == .seconds(3600))
  }
}
