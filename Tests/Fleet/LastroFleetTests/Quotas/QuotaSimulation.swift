// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroResilience
import LastroTesting

@testable import LastroFleet

/// A hundred instances with one quota of 100 requests a second, in virtual time. Half of them send as much as they may;
/// the others send one request in four seconds.
///
/// The machines of the instances and the state in the store are those of the product. The simulation moves time, and
/// carries requests, responses and the operations of the store.
struct QuotaSimulation {
  static let instances = 100
  static let perSecond = 100.0
  static let burst = 500

  /// A part of the run with the seconds that count: units that instances hold are used up before.
  struct Phase: Sendable {
    let name: String
    let seconds: Range<Int>
    let counted: Range<Int>
  }

  static let together = Phase(name: "all reach the store", seconds: 0..<35, counted: 20..<35)
  static let apart = Phase(name: "40 of 100 do not reach it", seconds: 35..<55, counted: 43..<55)
  static let leaving = Phase(
    name: "30 of 100 leave, and 10 return after ten seconds", seconds: 55..<75, counted: 62..<75)
  static let unrest = Phase(
    name: "all reach it; each second one crashes for a second, and one stalls for two", seconds: 75..<95,
    counted: 82..<95)
  static let alone = Phase(name: "the store is down", seconds: 95..<112, counted: 104..<112)
  static let phases = [together, apart, leaving, unrest, alone]

  struct Figures: Sendable {
    /// The number of requests of a phase that the server received, as a share of the quota.
    var shares: [Double] = []
    /// The greatest number of requests in any period beyond the pace.
    var excess = 0.0
    var stalls = 0
    /// The number of operations of the store in the first phase, and of requests in it.
    var trips = 0
    var requests = 0
  }

  private enum Event {
    case wake
    case ask
    /// A request with a unit is sent.
    case transmit
    case respond
    case read(QuotaRecord.Request, start: Duration, tries: Int)
    case write(QuotaRecord, QuotaRecord.Request, QuotaRecord.Reply, version: Int, start: Duration, tries: Int)
    case exchanged(QuotaRecord.Request, QuotaRecord.Reply?, isLost: Bool, start: Duration)
  }

  private struct Scheduled {
    var time: Duration
    /// The order among events of the same time.
    var number: Int
    var instance: Int
    var life: Int
    var event: Event
  }

  private struct Instance {
    var machine: QuotaMachine
    var life = 0
    var isUp = true
    var stalledUntil = Duration.zero
    var wake: Duration?
    var lastID: UInt64 = 0
    /// The state in the store as the instance has seen it last, with its version and time.
    var seen: (record: QuotaRecord?, version: Int, time: Duration)?
  }

  private let count: Int
  private let perSecond: Double
  private let terms: QuotaTerms
  private let random: RandomSource
  private var now = Duration.zero
  private var events: [Scheduled] = []
  private var number = 0
  private var all: [Instance] = []
  private var record: QuotaRecord?
  private var version = 0
  private var arrivals: [Duration] = []
  private var result = Figures()

  private init(
    _ whenUnshared: WhenUnshared, count: Int = instances, perSecond: Double = perSecond, burst: Int = burst,
    seed: UInt64
  ) throws {
    (self.count, self.perSecond) = (count, perSecond)
    terms = QuotaTerms(try Pacer.Pace(perSecond: perSecond, burst: burst), whenUnshared)
    random = .seeded(seed)
  }

  /// The run with the fractions of instances, for the tests and for the page.
  static let fractions = Result { try run(.fraction(of: instances), seed: 1) }
  /// The run without fractions.
  static let waiting = Result { try run(.wait, seed: 2) }

  /// Ten instances with 500 requests a second, all of which reach the store for 26 seconds. Half of them lend their
  /// fractions to the others, about 120 units at once.
  static let large = Result {
    var simulation = try QuotaSimulation(.fraction(of: 10), count: 10, perSecond: 500, burst: 8000, seed: 3)
    return simulation.run(until: .seconds(26))
  }

  private static func run(_ whenUnshared: WhenUnshared, seed: UInt64) throws -> Figures {
    var simulation = try QuotaSimulation(whenUnshared, seed: seed)
    return simulation.run(until: .seconds(alone.seconds.upperBound))
  }

  private var second: Int { Int(now / .seconds(1)) }

  private mutating func run(until end: Duration) -> Figures {
    for index in 0..<count {
      all.append(Instance(machine: machine(of: index, life: 0)))
      begin(index)
    }
    var nextSecond = 1
    while let event = popEvent(), event.time < end {
      while event.time >= .seconds(nextSecond) {
        now = .seconds(nextSecond)
        secondBegan(nextSecond)
        nextSecond += 1
      }
      now = event.time
      handle(event)
    }
    return finished()
  }

  private func machine(of index: Int, life: Int) -> QuotaMachine {
    QuotaMachine(terms, instance: "\(index).\(life)", now: now)
  }

  /// Starts the callers of an instance.
  private mutating func begin(_ index: Int) {
    let callers = index % 2 == 0 ? 4 : 1
    for _ in 0..<callers { schedule(.milliseconds(Int(random.next() % 1000)), index, .ask) }
    act(index)
  }

  // MARK: Faults

  private mutating func secondBegan(_ second: Int) {
    if Self.unrest.seconds.contains(second) {
      end(Int(random.next() % 100))
      all[Int(random.next() % 100)].stalledUntil = now + .seconds(2)
      result.stalls += 1
    }
    if second == Self.leaving.seconds.lowerBound {
      for index in 0..<30 {
        let request = all[index].machine.leave(now: now)
        _ = exchange(request)
        end(index)
      }
    }
    for index in 0..<count where !all[index].isUp {
      let isReturning =
        Self.leaving.seconds.contains(second)
        ? second % 10 == 5 && index < second - Self.leaving.seconds.lowerBound : true
      if isReturning, all[index].stalledUntil < now { start(index) }
    }
  }

  private mutating func end(_ index: Int) {
    all[index].isUp = false
    all[index].life += 1
    all[index].stalledUntil = now
  }

  private mutating func start(_ index: Int) {
    all[index].isUp = true
    all[index].machine = machine(of: index, life: all[index].life)
    all[index].wake = nil
    all[index].seen = nil
    begin(index)
  }

  private func isReached(_ index: Int) -> Bool {
    !Self.alone.seconds.contains(second) && !(Self.apart.seconds.contains(second) && index < 40)
  }

  // MARK: Events

  private mutating func handle(_ scheduled: Scheduled) {
    let index = scheduled.instance
    guard all[index].isUp, all[index].life == scheduled.life else { return }
    switch scheduled.event {
    case .read, .write: break
    default:
      // Nothing runs on an instance that stalls.
      if all[index].stalledUntil > now {
        return schedule(all[index].stalledUntil - now, index, scheduled.event)
      }
    }
    switch scheduled.event {
    case .wake:
      all[index].wake = nil
      act(index)
    case .ask:
      if all[index].machine.ask(now: now) {
        schedule(.microseconds(200), index, .transmit)
      } else {
        all[index].lastID += 1
        all[index].machine.wait(all[index].lastID)
      }
      act(index)
    case .transmit:
      arrivals.append(now)
      schedule(.milliseconds(5), index, .respond)
    case .respond:
      let pause = index % 2 == 0 ? Duration.zero : .seconds(3.5 + random.unit())
      schedule(pause, index, .ask)
    case .read(let request, let start, let tries): read(index, request, start, tries)
    case .write(let next, let request, let reply, let version, let start, let tries):
      countTrip()
      if version == self.version {
        record = next
        self.version += 1
        all[index].seen = (record, self.version, now)
        schedule(trip, index, .exchanged(request, reply, isLost: false, start: start))
      } else if tries == 1 {
        schedule(trip, index, .exchanged(request, nil, isLost: false, start: start))
      } else {
        // The store responds with the value that it has.
        countTrip(-1)
        read(index, request, start, tries - 1)
      }
    case .exchanged(let request, let reply, let isLost, let start):
      if let reply {
        _ = all[index].machine.exchanged(request, reply, start: start, now: now, jitter: random.unit())
      } else {
        _ = all[index].machine.failed(request, isLost: isLost, now: now, jitter: random.unit())
      }
      act(index)
    }
  }

  /// Half of a round trip to the store.
  private var trip: Duration { .microseconds(200 + Int(random.next() % 400)) }

  private mutating func countTrip(_ count: Int = 1) {
    if Self.together.counted.contains(second) { result.trips += count }
  }

  private mutating func read(_ index: Int, _ request: QuotaRecord.Request, _ start: Duration, _ tries: Int) {
    countTrip()
    all[index].seen = (record, version, now)
    let (next, reply) = QuotaRecord.exchange(record, request, terms, at: now, change: 0)
    if let next {
      schedule(trip * 2, index, .write(next, request, reply, version: version, start: start, tries: tries))
    } else {
      schedule(trip, index, .exchanged(request, reply, isLost: false, start: start))
    }
  }

  /// Returns the operation that an instance begins an exchange with: it writes if nothing seems to have changed.
  private func firstStep(_ index: Int, _ request: QuotaRecord.Request) -> Event {
    if let seen = all[index].seen {
      let (next, reply) = QuotaRecord.exchange(seen.record, request, terms, at: now, change: 0)
      if let next { return .write(next, request, reply, version: seen.version, start: now, tries: 7) }
    }
    return .read(request, start: now, tries: 6)
  }

  /// Performs an exchange at once.
  private mutating func exchange(_ request: QuotaRecord.Request) -> QuotaRecord.Reply {
    let (next, reply) = QuotaRecord.exchange(record, request, terms, at: now, change: 0)
    if let next {
      record = next
      version += 1
    }
    return reply
  }

  private mutating func act(_ index: Int) {
    for _ in all[index].machine.admitted(now: now) { schedule(.microseconds(200), index, .transmit) }
    if let request = all[index].machine.exchange(now: now) {
      if isReached(index) {
        schedule(trip, index, firstStep(index, request))
      } else {
        all[index].seen = nil
        schedule(.seconds(1), index, .exchanged(request, nil, isLost: true, start: now))
      }
    }
    guard let next = all[index].machine.nextEvent(now: now) else { return }
    if let wake = all[index].wake, wake <= next { return }
    all[index].wake = next
    schedule(max(.zero, next - now), index, .wake)
  }

  // MARK: The heap of events

  private mutating func schedule(_ delay: Duration, _ index: Int, _ event: Event) {
    number += 1
    events.append(
      Scheduled(time: now + delay, number: number, instance: index, life: all[index].life, event: event))
    var child = events.count - 1
    while child > 0, isBefore(child, (child - 1) / 2) {
      events.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  private mutating func popEvent() -> Scheduled? {
    guard let first = events.first else { return nil }
    events.swapAt(0, events.count - 1)
    events.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < events.count && isBefore(child, least) {
        least = child
      }
      guard least != parent else { return first }
      events.swapAt(parent, least)
      parent = least
    }
  }

  private func isBefore(_ one: Int, _ other: Int) -> Bool {
    (events[one].time, events[one].number) < (events[other].time, events[other].number)
  }

  // MARK: The result

  private func finished() -> Figures {
    var result = result
    var counts = Array(repeating: 0, count: Self.alone.seconds.upperBound)
    for time in arrivals { counts[Int(time / .seconds(1))] += 1 }
    result.shares = Self.phases.map { phase in
      Double(counts[phase.counted].reduce(0, +)) / Double(phase.counted.count) / perSecond
    }
    result.requests = counts[Self.together.counted].reduce(0, +)
    var excess = 0.0, last = Duration.zero
    for time in arrivals {
      excess = max(0, excess - (time - last) / .seconds(1) * perSecond) + 1
      result.excess = max(result.excess, excess)
      last = time
    }
    return result
  }
}
