// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

@Suite("Limiter state machine", .ownThread)
struct LimiterMachineTests {
  private enum State: String, CaseIterable {
    case free, full, queueing, crowded
  }

  private struct Unexpected: Error {}

  /// An error that reports a history in which a rule is broken.
  private struct LostPermit: Error {
    let seed: Int
  }

  /// Returns a machine with a limit of 2 and a queue of 2 in a state, and the grants that are in use.
  private static func machine(_ state: State) throws -> (machine: LimiterMachine, grants: [LimiterMachine.Grant]) {
    var machine = LimiterMachine(.fixed(2), capacity: 2)
    var grants: [LimiterMachine.Grant] = []
    let asks = [.free: 1, .full: 2, .queueing: 3, .crowded: 4][state] ?? 0
    for _ in 0..<asks {
      if case .admitted(let grant) = machine.ask(now: .zero, left: nil) { grants.append(grant) }
    }
    return (machine, grants)
  }

  @Test("Requests, ends and departures have the expected effect in every state")
  func table() throws {
    let asked: [State: String] = [.free: "admitted", .full: "queued", .queueing: "queued", .crowded: "refused"]
    let ended: [State: String] = [.free: "0 0 []", .full: "1 0 []", .queueing: "2 0 [1]", .crowded: "2 1 [1]"]
    let left: [State: String] = [.free: "false 0", .full: "false 0", .queueing: "true 0", .crowded: "true 1"]
    for state in State.allCases {
      var (machine, _) = try Self.machine(state)
      let word =
        switch machine.ask(now: .zero, left: nil) {
        case .admitted: "admitted"
        case .queued: "queued"
        case .refused: "refused"
        }
      #expect(word == asked[state], "\(state)")
      for load in LoadSample.allCases {
        var (machine, grants) = try Self.machine(state)
        let admitted = machine.end(try #require(grants.first), load, now: .milliseconds(1)).map(\.ticket)
        #expect("\(machine.inUse) \(machine.waitingCount) \(admitted)" == ended[state], "\(state), \(load)")
      }
      var (leaving, _) = try Self.machine(state)
      let wasThere = leaving.leave(1)
      #expect("\(wasThere) \(leaving.waitingCount)" == left[state], "\(state)")
    }
  }

  @Test("Requests are served in order until the first has waited for 100 ms, and then newest first")
  func order() throws {
    for (wait, expected) in [(50, [1, 2, 3]), (150, [3, 2, 1])] as [(Int, [UInt64])] {
      var machine = LimiterMachine(.fixed(1), capacity: 10)
      guard case .admitted(var grant) = machine.ask(now: .zero, left: nil) else { throw Unexpected() }
      for _ in 0..<3 { _ = machine.ask(now: .zero, left: nil) }
      var served: [UInt64] = []
      while let next = machine.end(grant, .ignored, now: .milliseconds(wait)).first {
        served.append(next.ticket)
        grant = next.grant
      }
      #expect(served == expected)
    }
  }

  @Test("Cancelled waiters are not retained while no permit ends, and earlier waiters are served first")
  func stuck() throws {
    var machine = LimiterMachine(.fixed(1), capacity: 10)
    guard case .admitted(let grant) = machine.ask(now: .zero, left: nil) else { throw Unexpected() }
    #expect(machine.ask(now: .zero, left: nil) == .queued(1))
    for _ in 0..<10_000 {
      guard case .queued(let ticket) = machine.ask(now: .zero, left: nil) else { throw Unexpected() }
      let wasThere = machine.leave(ticket)
      #expect(wasThere)
    }
    #expect(machine.order.count <= 100)
    #expect(machine.ask(now: .zero, left: nil) == .queued(10_002))
    let first = machine.end(grant, .ignored, now: .zero)
    #expect(first.map(\.ticket) == [1])
    let second = machine.end(try #require(first.first).grant, .ignored, now: .zero)
    #expect(second.map(\.ticket) == [10_002])
  }

  @Test("A request that cannot be served before its deadline is refused at once")
  func deadline() throws {
    var machine = LimiterMachine(.fixed(1), capacity: 10)
    guard case .admitted(let grant) = machine.ask(now: .zero, left: nil) else { throw Unexpected() }
    _ = machine.end(grant, .measured, now: .seconds(1))
    for _ in 0..<4 { _ = machine.ask(now: .seconds(1), left: nil) }
    #expect(machine.ask(now: .seconds(1), left: .seconds(2)) == .refused)
    #expect(machine.ask(now: .seconds(1), left: .zero) == .refused)
    #expect(machine.ask(now: .seconds(1), left: .seconds(4)) == .queued(4))
  }

  @Test("In random histories no permit is lost, the limit holds, and no waiter is forgotten")
  func histories() throws {
    let algorithms: [ConcurrencyAlgorithm] = [
      .fixed(3), .aimd(initial: 4, range: 1...8), .gradient(initial: 4, range: 2...8),
    ]
    for seed in 0..<10_000 {
      let random = RandomSource.seeded(UInt64(seed))
      func roll(_ sides: UInt64) -> Int { Int(random.next() % sides) }
      var machine = LimiterMachine(algorithms[seed % 3], capacity: 4)
      var out: [LimiterMachine.Grant] = []
      var waiting: Set<UInt64> = []
      var now = Duration.zero
      for _ in 0..<60 {
        now += .milliseconds(roll(200))
        switch roll(5) {
        case 0, 1:
          switch machine.ask(now: now, left: roll(2) == 0 ? nil : .milliseconds(roll(500))) {
          case .admitted(let grant):
            out.append(grant)
            guard out.count <= machine.limit.value else { throw LostPermit(seed: seed) }
          case .queued(let ticket): waiting.insert(ticket)
          case .refused: break
          }
        case 2, 3:
          guard !out.isEmpty else { continue }
          let before = out.count
          let ended = out.remove(at: roll(UInt64(out.count)))
          for (ticket, grant) in machine.end(ended, LoadSample.allCases[roll(3)], now: now) {
            guard waiting.remove(ticket) != nil else { throw LostPermit(seed: seed) }
            out.append(grant)
          }
          guard out.count <= max(machine.limit.value, before - 1) else { throw LostPermit(seed: seed) }
        default:
          guard let ticket = waiting.sorted().dropFirst(roll(UInt64(waiting.count + 1))).first else { continue }
          guard machine.leave(ticket) else { throw LostPermit(seed: seed) }
          waiting.remove(ticket)
        }
        guard machine.inUse == out.count && machine.waitingCount == waiting.count else { throw LostPermit(seed: seed) }
        guard waiting.isEmpty || machine.inUse >= 1 else { throw LostPermit(seed: seed) }
      }
      while let grant = out.popLast() {
        for (ticket, next) in machine.end(grant, .ignored, now: now) {
          waiting.remove(ticket)
          out.append(next)
        }
      }
      #expect(machine.inUse == 0 && waiting.isEmpty, "seed \(seed)")
    }
  }
}

@Suite("Concurrency limits", .ownThread)
struct ConcurrencyLimitTests {
  private static func sample(
    _ milliseconds: Int, inUse: Int = 20, isDropped: Bool = false, began: Duration = .zero
  ) -> ConcurrencyLimit.Sample {
    .init(duration: .milliseconds(milliseconds), inUse: inUse, isDropped: isDropped, began: began)
  }

  @Test("AIMD adds one if half the limit is used, removes a tenth after a drop or over 5 s, and stays in range")
  func aimd() {
    var limit = ConcurrencyLimit(.aimd(initial: 20, range: 10...21))
    limit.learn(Self.sample(10, inUse: 9), now: .zero)
    #expect(limit.value == 20)
    limit.learn(Self.sample(10, inUse: 10), now: .zero)
    #expect(limit.value == 21)
    limit.learn(Self.sample(10), now: .zero)
    #expect(limit.value == 21)
    limit.learn(Self.sample(10, isDropped: true, began: .seconds(1)), now: .seconds(1))
    #expect(limit.value == 18)
    limit.learn(Self.sample(5_001, began: .seconds(2)), now: .seconds(8))
    #expect(limit.value == 16)
    // After the first cut, the limit grows by one for each round trip.
    for _ in 0..<18 { limit.learn(Self.sample(10, began: .seconds(9)), now: .seconds(9)) }
    #expect(limit.value == 17)
  }

  @Test("AIMD counts fifty attempts dropped together as one cut")
  func oneCut() {
    var limit = ConcurrencyLimit(.aimd(initial: 100))
    for _ in 0..<50 { limit.learn(Self.sample(10, isDropped: true, began: .zero), now: .milliseconds(10)) }
    #expect(limit.value == 90)
    limit.learn(Self.sample(10, isDropped: true, began: .milliseconds(10)), now: .milliseconds(20))
    #expect(limit.value == 81)
  }

  @Test("The gradient limit grows at normal latency, shrinks when it rises, and stays if little is used")
  func gradient() {
    var limit = ConcurrencyLimit(.gradient(initial: 50, range: 20...200))
    var now = Duration.zero
    func second(_ milliseconds: Int, inUse: Int = 200) {
      for _ in 0..<10 {
        limit.learn(Self.sample(milliseconds, inUse: inUse), now: now)
        now += .milliseconds(110)
      }
    }
    for _ in 0..<100 { second(10) }
    second(10, inUse: 1)
    let grown = limit.value
    #expect(grown > 50)
    for _ in 0..<20 { second(10, inUse: 1) }
    #expect(limit.value == grown)
    for _ in 0..<20 { second(100) }
    #expect(limit.value < grown / 2)
    // An attempt that is shorter than 100 µs never left the host.
    let shrunk = limit.value
    let tiny = ConcurrencyLimit.Sample(duration: .microseconds(99), inUse: 200, isDropped: false, began: now)
    for second in 0..<20 { limit.learn(tiny, now: now + .seconds(second)) }
    #expect(limit.value == shrunk)
  }

  @Test("A fixed limit learns nothing")
  func fixed() {
    var limit = ConcurrencyLimit(.fixed(7))
    for dropped in [true, false] { limit.learn(Self.sample(6_000, isDropped: dropped), now: .seconds(6)) }
    #expect(limit.value == 7)
  }
}
