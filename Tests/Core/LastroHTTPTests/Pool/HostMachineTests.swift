// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Decisions for a host", .ownThread, .timeLimit(.minutes(15)))
struct HostMachineTests {
  private static let limits = HostMachine.Limits(
    connections: 3, dials: 2, streams: 4, streamsPerConnection: 3, keepsIdle: true)

  /// A host machine that the test drives step by step.
  private struct Driven {
    var machine: HostMachine
    var now: Int64 = 0

    init(_ limits: HostMachine.Limits = HostMachineTests.limits, _ version: ConnectionOptions.HTTPVersion = .http1) {
      machine = HostMachine(limits, HostVersions(version, isTLS: true))
    }

    mutating func tell(_ event: HostMachine.Event) -> [HostMachine.Step] {
      now += 1
      var steps: [HostMachine.Step] = []
      machine.handle(event, now: now, &steps)
      return steps
    }

    mutating func arrive(_ request: UInt64, wantsFresh: Bool = false) -> [HostMachine.Step] {
      tell(.arrived(WaitingQueue.Entry(request, wantsFresh: wantsFresh, enteredAt: now)))
    }

    /// Opens an HTTP/1.1 connection, and returns the resulting steps.
    mutating func open(dial: UInt64, _ connection: UInt64) -> [HostMachine.Step] {
      _ = machine.learn("http/1.1")
      return tell(.opened(dial: dial))
        + tell(.free(connection, .init(isFresh: true, mayServe: true, mayIdle: true)))
    }

    mutating func free(_ connection: UInt64) -> [HostMachine.Step] {
      tell(.free(connection, .init(isFresh: false, mayServe: true, mayIdle: true)))
    }
  }

  private static let kept = HostMachine.Fitness(isFresh: false, mayServe: true, mayIdle: true)
  private static let room = HostMachine.Room(free: 2, allowed: 2)

  @Test("The first free connection serves the first waiting request")
  func order() {
    var host = Driven()
    #expect(host.arrive(1) == [.dial(1, request: 1), .limitWait(request: 1)])
    #expect(host.arrive(2) == [.dial(2, request: 2), .limitWait(request: 2)])
    #expect(host.open(dial: 2, 20) == [.start(request: 1, connection: 20, wasIdle: false)])
    #expect(host.free(20) == [.start(request: 2, connection: 20, wasIdle: false)])
    #expect(host.open(dial: 1, 10) == [.becameIdle(10)])
    #expect(host.arrive(3) == [.becameBusy(10), .start(request: 3, connection: 10, wasIdle: true)])
  }

  @Test("The connection that was used last is taken first")
  func latest() {
    var host = Driven()
    for request: UInt64 in 1...2 { _ = host.arrive(request) }
    _ = host.open(dial: 1, 10)
    _ = host.open(dial: 2, 20)
    _ = host.free(20)
    _ = host.free(10)
    #expect(host.arrive(3) == [.becameBusy(10), .start(request: 3, connection: 10, wasIdle: true)])
  }

  @Test("A dial that no request needs any more is cancelled, the latest first")
  func unwanted() {
    var host = Driven()
    for request: UInt64 in 1...2 { _ = host.arrive(request) }
    #expect(host.tell(.left(1)) == [.cancelDial(2)])
    #expect(host.machine.isWaiting(2) && !host.machine.isWaiting(1))
    #expect(host.open(dial: 1, 10) == [.start(request: 2, connection: 10, wasIdle: false)])
  }

  @Test("A request that needs a fresh connection waits beside idle ones, of which the oldest is closed")
  func fresh() {
    var limits = Self.limits
    limits.connections = 1
    var host = Driven(limits)
    _ = host.arrive(1)
    _ = host.open(dial: 1, 10)
    _ = host.free(10)
    #expect(
      host.arrive(2, wantsFresh: true)
        == [.becameBusy(10), .close(10), .dial(2, request: 2), .limitWait(request: 2)])
  }

  @Test("A connection that only discards the rest of a response is closed if another request needs it")
  func draining() {
    var limits = Self.limits
    limits.connections = 1
    var host = Driven(limits)
    _ = host.arrive(1)
    _ = host.open(dial: 1, 10)
    #expect(host.tell(.drains(1)).isEmpty)
    #expect(host.arrive(2) == [.endDrain(request: 1)])
    #expect(host.tell(.lost(10)) == [.dial(2, request: 2), .limitWait(request: 2)])
  }

  @Test("A connection that begins to discard the rest of a response is closed if another request waits for it")
  func drainingBesideWaiting() {
    var limits = Self.limits
    limits.connections = 1
    var host = Driven(limits)
    _ = host.arrive(1)
    _ = host.open(dial: 1, 10)
    #expect(host.arrive(2).isEmpty)
    #expect(host.tell(.drains(1)) == [.endDrain(request: 1)])
    #expect(host.tell(.lost(10)) == [.dial(2, request: 2), .limitWait(request: 2)])
  }

  @Test("While HTTP/2 is expected, a connection that only discards a response is closed if its place is needed")
  func drainingBesideHTTP2() {
    var limits = Self.limits
    limits.connections = 2
    var host = Driven(limits, .automatic)
    for request: UInt64 in 1...2 { _ = host.arrive(request) }
    _ = host.open(dial: 1, 10)
    _ = host.machine.learn("h2")
    _ = host.tell(.openedMultiplexed(dial: 2, connection: 20, room: .init(free: 1, allowed: 1)))
    #expect(host.tell(.drains(1)).isEmpty)
    #expect(host.arrive(3) == [.endDrain(request: 1)])
    #expect(host.tell(.lost(10)) == [.dial(3, request: 3), .limitWait(request: 3)])
  }

  @Test("A new connection that ended before it was used fails one request, for which no other is dialed")
  func unfit() {
    var host = Driven()
    for request: UInt64 in 1...3 { _ = host.arrive(request) }
    _ = host.machine.learn("http/1.1")
    let unfit = HostMachine.Event.free(10, .init(isFresh: true, mayServe: false, mayIdle: false))
    #expect(host.tell(.opened(dial: 1)) == [])
    #expect(
      host.tell(unfit) == [.fail(request: 1), .close(10), .dial(3, request: 3), .limitWait(request: 3)])
    #expect(!host.machine.isWaiting(1) && host.machine.isWaiting(2))
  }

  @Test("Requests that may share a connection wait for one dial and share its failure")
  func shared() {
    var host = Driven(Self.limits, .automatic)
    #expect(host.arrive(1) == [.dial(1, request: 1), .limitWait(request: 1)])
    #expect(host.arrive(2) == [.limitWait(request: 2)])
    #expect(host.tell(.failed(dial: 1, isLate: false)) == [.fail(request: 1), .fail(request: 2)])
  }

  @Test("A request that came after a dial began does not share its failure")
  func later() {
    var host = Driven(Self.limits, .automatic)
    _ = host.arrive(1)
    host.now += 10
    _ = host.arrive(2)
    #expect(
      host.tell(.failed(dial: 1, isLate: false)) == [.fail(request: 1), .dial(2, request: 2)])
  }

  @Test("A server that allows no requests is not dialed again for more")
  func allowsNothing() {
    var host = Driven(Self.limits, .automatic)
    _ = host.arrive(1)
    _ = host.machine.learn("h2")
    #expect(
      host.tell(.openedMultiplexed(dial: 1, connection: 10, room: .init(free: 0, allowed: 0))) == [.becameIdle(10)])
    #expect(host.tell(.room(10, .init(free: 1, allowed: 1))) == [.wantService])
    #expect(host.tell(.serviceDue) == [.becameBusy(10), .open(request: 1, connection: 10)])
  }

  @Test("A server that ends a connection on which it allowed no request costs one request, and is dialed for the next")
  func endsWithoutAllowing() {
    let none = HostMachine.Room(free: 0, allowed: 0)
    var host = Driven(Self.limits, .automatic)
    for request: UInt64 in 1...2 { _ = host.arrive(request) }
    _ = host.machine.learn("h2")
    _ = host.tell(.openedMultiplexed(dial: 1, connection: 10, room: none))
    #expect(host.tell(.ended(10)) == [.fail(request: 1), .becameBusy(10), .wantService])
    #expect(host.tell(.serviceDue) == [.dial(2, request: 2)])
    #expect(
      host.tell(.openedMultiplexed(dial: 2, connection: 20, room: .init(free: 1, allowed: 1)))
        == [.becameIdle(20), .becameBusy(20), .open(request: 2, connection: 20)])
    // A connection that has served a request costs none, and another is dialed.
    _ = host.tell(.streamClosed(20, none))
    #expect(host.arrive(3).isEmpty)
    #expect(host.tell(.retired(20)) == [.wantService, .becameBusy(20), .close(20)])
    #expect(host.tell(.serviceDue) == [.dial(3, request: 3), .limitWait(request: 3)])
  }

  @Test(
    "A connection that opens when no request waits is kept, or closed if none may be idle", arguments: [true, false])
  func unwantedConnection(keepsIdle: Bool) {
    var limits = Self.limits
    limits.keepsIdle = keepsIdle
    var host = Driven(limits, .automatic)
    for request: UInt64 in 1...3 { _ = host.arrive(request) }
    _ = host.machine.learn("h2")
    _ = host.tell(.openedMultiplexed(dial: 1, connection: 10, room: Self.room))
    _ = host.tell(.streamClosed(10, .init(free: 1, allowed: 2)))
    #expect(host.tell(.serviceDue) == [.open(request: 3, connection: 10)])
    let closing: [HostMachine.Step] = [.wantService, .becameBusy(20), .close(20)]
    #expect(
      host.tell(.openedMultiplexed(dial: 2, connection: 20, room: Self.room))
        == [.becameIdle(20)] + (keepsIdle ? [] : closing))
  }

  @Test("A connection that allows no requests is closed with the last waiting one, if none may be idle")
  func unwantedMute() {
    var limits = Self.limits
    limits.keepsIdle = false
    var host = Driven(limits, .automatic)
    for request: UInt64 in 1...2 { _ = host.arrive(request) }
    _ = host.machine.learn("h2")
    #expect(
      host.tell(.openedMultiplexed(dial: 1, connection: 10, room: .init(free: 0, allowed: 0))) == [.becameIdle(10)])
    #expect(host.tell(.left(1)).isEmpty)
    #expect(host.tell(.left(2)) == [.wantService, .becameBusy(10), .close(10)])
  }

  @Test("A silent server's connection keeps its requests, and another is dialed for later ones")
  func suspect() {
    var host = Driven(Self.limits, .automatic)
    _ = host.arrive(1)
    _ = host.machine.learn("h2")
    _ = host.tell(.openedMultiplexed(dial: 1, connection: 10, room: Self.room))
    _ = host.tell(.room(10, .init(free: 0, allowed: 2, isSuspect: true)))
    #expect(host.arrive(2) == [.dial(2, request: 2), .limitWait(request: 2)])
  }

  // MARK: Every state and every event

  /// States that differ in the facts that the machine knows.
  private static var states: [(name: String, world: HostWorld)] {
    func world(_ name: String, _ choices: [HostWorld.Choice]) -> (String, HostWorld) {
      var world = HostWorld(limits)
      for choice in choices { world.apply(choice) }
      return (name, world)
    }
    return [
      world("nothing", []), world("dialing", [.request]),
      world("dialing for two", [.request, .request]),
      world("running", [.request, .dialOpens(1)]),
      world("idle", [.request, .dialOpens(1), .finish(1)]),
      world("dead", [.request, .dialOpens(1), .finish(1), .die(2)]),
      world("draining", [.request, .dialOpens(1), .drain(1)]),
      world("streams", [.request, .request, .dialOpensMultiplexed(1, allowed: 2)]),
      world("streams and waiting", [.request, .request, .dialOpensMultiplexed(1, allowed: 1)]),
      world("mute", [.request, .dialOpensMultiplexed(1, allowed: 0)]),
      world("retired", [.request, .dialOpensMultiplexed(1, allowed: 2), .goAway(2), .service]),
    ]
  }

  @Test("Each event in each state keeps the invariants")
  func table() {
    var tried = 0
    for (name, start) in Self.states {
      #expect(start.faults.isEmpty, "\(name)")
      for choice in start.choices(mostRequests: 4) {
        var world = start
        world.apply(choice)
        #expect(world.faults.isEmpty, "\(choice) in the state \(name): \(world.faults)")
        tried += 1
      }
    }
    #expect(tried > 70)
  }

  @Test("Events about unknown requests, dials or connections change nothing")
  func strangers() {
    for (name, world) in Self.states {
      let events: [HostMachine.Event] = [
        .left(99), .drainEnded(99), .opened(dial: 99), .wasted(dial: 99), .failed(dial: 99, isLate: false),
        .dropped(dial: 99), .openedMultiplexed(dial: 99, connection: 98, room: Self.room), .idleClosed(99),
        .room(99, Self.room), .retired(99),
      ]
      for event in events {
        var machine = world.machine
        var steps: [HostMachine.Step] = []
        machine.handle(event, now: world.now, &steps)
        #expect(steps.isEmpty && machine == world.machine, "\(event) in the state \(name)")
      }
    }
  }

  // MARK: Histories

  private static let worlds: [HostWorld] = [
    HostWorld(limits), HostWorld(limits, .http1),
    HostWorld(.init(connections: 1, dials: 1, streams: 1, streamsPerConnection: 1, keepsIdle: true)),
    HostWorld(.init(connections: 2, dials: 2, streams: 2, streamsPerConnection: 2, keepsIdle: false)),
  ]

  @Test("Random histories lose no request and serve none twice", arguments: 0..<worlds.count)
  func histories(number: Int) {
    var steps = 0
    for seed: UInt64 in 0..<2_500 {
      var random = SeededGenerator(seed: seed)
      var world = Self.worlds[number]
      for _ in 0..<60 {
        guard let choice = world.choices(mostRequests: 8).randomElement(using: &random) else { break }
        world.apply(choice)
        if !world.faults.isEmpty { break }
      }
      Self.drain(&world)
      #expect(world.faults.isEmpty, "seed \(seed): \(world.faults)")
      let left = world.requests.values.filter { $0 != .done && $0 != .failed }
      #expect(left.isEmpty, "seed \(seed): \(left)")
      steps += world.stepCount
      if !world.faults.isEmpty || !left.isEmpty { return }
    }
    #expect(steps > 20_000)
  }

  /// Performs service, responses, dials and stream limits until every request has ended.
  private static func drain(_ world: inout HostWorld) {
    for _ in 0..<500 where world.faults.isEmpty {
      let choices = world.choices(mostRequests: 0)
      let next =
        choices.first { if case .service = $0 { true } else { false } }
        ?? choices.first { if case .finish = $0 { true } else { false } }
        ?? choices.first { if case .dialOpens = $0 { true } else { false } }
        ?? choices.first { if case .allow(_, 2) = $0 { true } else { false } }
      guard let next, world.requests.values.contains(where: { $0 != .done && $0 != .failed }) else { return }
      world.apply(next)
    }
  }

  /// A host with two connections and up to three requests. That every request ends is the matter of random histories,
  /// which are longer.
  private struct SmallHost: BoundedWorld {
    var state = HostWorld(.init(connections: 2, dials: 2, streams: 2, streamsPerConnection: 2, keepsIdle: true))

    var choices: [HostWorld.Choice] { state.choices(mostRequests: 3) }
    var broken: [String] { state.faults }

    mutating func apply(_ choice: HostWorld.Choice) { state.apply(choice) }
    mutating func finish() {}
  }

  @Test("All histories of three requests and two connections reach allowed states only")
  func everyHistory() {
    let histories = BoundedHistories(bound: 8, isValue: true) { SmallHost() }
    histories.print("a host")
    #expect(histories.failure == nil)
    #expect(histories.states >= 113_880)
  }
}
