// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroTesting
import Testing

@testable import LastroResilience

@Suite("Pacing state machine", .timeLimit(.minutes(15)))
struct PacingMachineTests {
  private static func slots(_ machine: inout PacingMachine, _ count: Int, now: Duration = .zero) -> [String] {
    (0..<count).map { _ in machine.reserve(now: now, unit: 0.5).slot.brief }
  }

  @Test("A rate has a burst, and only the last reservation can be returned, once")
  func bucket() throws {
    var machine = PacingMachine(pace: try Pacer.Pace(perSecond: 10, burst: 3))
    let places = (0..<5).map { _ in machine.reserve(now: .seconds(1), unit: 0) }
    #expect(places.map(\.slot.brief) == ["1 s", "1 s", "1 s", "1.1 s", "1.2 s"])
    machine.giveBack(places[3])
    machine.giveBack(places[4])
    machine.giveBack(places[3])
    #expect(Self.slots(&machine, 2, now: .seconds(1)) == ["1.2 s", "1.3 s"])
    #expect(Self.slots(&machine, 1, now: .seconds(60)) == ["60 s"])
  }

  @Test("Reservations never exceed burst and rate, at any times")
  func bound() throws {
    var (cases, wrong) = (0, Set<Int>())
    for seed in 0..<1_000 {
      let random = RandomSource.seeded(UInt64(seed))
      var bucket = TokenBucket(try Pacer.Pace(perSecond: 10, burst: 4))
      var now = Duration.seconds(100)
      var slots: [Duration] = []
      for _ in 0..<50 {
        now += .milliseconds(Int(random.next() % 150))
        slots.append(bucket.reserve(now: now))
      }
      // Five within a tenth of a second are too many.
      for index in slots.indices.dropFirst(4) {
        cases += 1
        if slots[index] - slots[index - 4] < .milliseconds(99) { wrong.insert(seed) }
      }
    }
    #expect(cases == 46_000)
    #expect(wrong.isEmpty)
  }

  @Test("A quota is free until a tenth is left, then spread over the remaining time, then exhausted")
  func quota() {
    var machine = PacingMachine()
    machine.learn(
      number: machine.sent(now: .zero), quota: ServerQuota(left: 4, reset: .seconds(10), whole: 20), retryAfter: nil,
      now: .zero)
    #expect(Self.slots(&machine, 5) == ["0 ms", "0 ms", "0 ms", "5 s", "10.5 s"])
    #expect(machine.status(now: .zero)?.left == 0)
    #expect(machine.status(now: .seconds(10)) == nil)
    #expect(Self.slots(&machine, 1, now: .seconds(11)) == ["11 s"])
  }

  @Test("Requests that are not sent cost no quota, whatever follows and whichever response comes next")
  func unsent() {
    var machine = PacingMachine()
    let quota = ServerQuota(left: 10, reset: .seconds(100))
    machine.learn(number: machine.sent(now: .zero), quota: quota, retryAfter: nil, now: .zero)
    let first = machine.reserve(now: .zero, unit: 0)
    let others = (0..<20).map { _ in machine.reserve(now: .zero, unit: 0) }
    #expect(machine.status(now: .zero)?.left == 0)
    let number = machine.send(first)
    for place in others.dropLast() { machine.giveBack(place) }
    #expect(machine.status(now: .zero)?.left == 8)
    machine.learn(number: number, quota: quota, retryAfter: nil, now: .zero)
    #expect(machine.status(now: .zero)?.left == 9)
    machine.giveBack(others[19])
    #expect(machine.status(now: .zero)?.left == 10)
    #expect(first.slot == .zero && Self.slots(&machine, 1) == ["0 ms"])
  }

  @Test("A response to an older request does not raise the quota")
  func staleAnswers() {
    var machine = PacingMachine()
    let numbers = (0..<3).map { _ in machine.sent(now: .zero) }
    machine.learn(
      number: numbers[2], quota: ServerQuota(left: 0, reset: .seconds(10), whole: 20), retryAfter: nil, now: .zero)
    machine.learn(
      number: numbers[0], quota: ServerQuota(left: 20, reset: .seconds(10), whole: 20), retryAfter: nil, now: .zero)
    #expect(Self.slots(&machine, 1) == ["10.5 s"])
  }

  @Test("The longest Retry-After applies to all, and then the rate starts at half and doubles each second")
  func sharedRetryAfter() {
    var machine = PacingMachine()
    var last: UInt64 = 0
    for _ in 0..<8 { last = machine.sent(now: .zero) }
    machine.learn(number: last, quota: nil, retryAfter: .seconds(10), now: .zero)
    machine.learn(number: last, quota: nil, retryAfter: .seconds(5), now: .zero)
    #expect(machine.blockedUntil == .seconds(10))
    let slots = Self.slots(&machine, 30, now: .seconds(1))
    #expect(slots.prefix(6) == ["10 s", "10.25 s", "10.5 s", "10.75 s", "11 s", "11.125 s"])
    #expect(Self.slots(&machine, 2, now: .seconds(60)) == ["60 s", "60 s"])
  }

  @Test("After Retry-After the rate follows from the requests that were sent, not from those that were returned")
  func returned() {
    var machine = PacingMachine()
    for place in (0..<100).map({ _ in machine.reserve(now: .zero, unit: 0) }) { machine.giveBack(place) }
    var last: UInt64 = 0
    for _ in 0..<8 { last = machine.sent(now: .zero) }
    machine.learn(number: last, quota: nil, retryAfter: .seconds(10), now: .zero)
    #expect(Self.slots(&machine, 3, now: .seconds(1)) == ["10 s", "10.25 s", "10.5 s"])
  }

  @Test("A request that is sent after one of the next second counts in its own second")
  func outOfOrder() {
    var machine = PacingMachine()
    let early = (0..<8).map { _ in machine.reserve(now: .milliseconds(900), unit: 0) }
    var last = machine.sent(now: .seconds(1))
    for place in early { last = machine.send(place) }
    machine.learn(number: last, quota: nil, retryAfter: .seconds(10), now: .seconds(1))
    #expect(Self.slots(&machine, 2, now: .seconds(2)) == ["11 s", "11.25 s"])
  }

  @Test("A server's limits apply for an hour at most")
  func hour() {
    var machine = PacingMachine()
    let number = machine.sent(now: .zero)
    let quota = ServerQuota(left: 0, reset: .seconds(1_000_000_000))
    machine.learn(number: number, quota: quota, retryAfter: .seconds(1_000_000_000), now: .zero)
    #expect(machine.blockedUntil == .seconds(3600))
    #expect(machine.status(now: .seconds(3599)) != nil)
    #expect(machine.status(now: .seconds(3600)) == nil)
  }

  @Test("A rate is not discarded before its next slot")
  func slowPace() throws {
    var machine = PacingMachine(pace: try Pacer.Pace(perSecond: 1.0 / 300, burst: 1))
    _ = machine.reserve(now: .zero, unit: 0)
    #expect(!machine.mayBeForgotten(now: .seconds(70)))
    #expect(machine.mayBeForgotten(now: .seconds(301)))
  }
}

extension PacingMachine {
  /// Sends a request at once.
  ///
  /// - Returns: the number of the request.
  mutating func sent(now: Duration) -> UInt64 {
    send(reserve(now: now, unit: 0))
  }
}

@Suite("Pacer", .timeLimit(.minutes(15)))
struct PacerTests {
  @Test("A configured rate makes requests wait, and refuses those that would wait too long")
  func pace() async throws {
    let clock = ManualClock(autoAdvance: true)
    let policy = PacingPolicy(pace: try .init(perSecond: 1), maximumWait: .seconds(3))
    let pacer = Pacer(policy, time: clock.timeSource, random: .seeded(1))
    let key = ResilienceKey(try Origin("https://api.example.org"))
    for expected in [0, 1, 1] { #expect(try await pacer.slot(for: key).waited == .seconds(expected)) }
    let error = await #expect(throws: TransportError.self) {
      _ = try await pacer.slot(for: key, left: .milliseconds(500))
    }
    #expect(error?.code == .rateLimited)
    // A request that was refused takes no place.
    #expect(try await pacer.slot(for: key).waited == .seconds(1))
  }

  @Test("A cancelled wait returns its slot")
  func cancelled() async throws {
    let clock = ManualClock()
    let pacer = Pacer(PacingPolicy(pace: try .init(perSecond: 1)), time: clock.timeSource)
    let key = ResilienceKey(try Origin("https://api.example.org"))
    _ = try await pacer.slot(for: key)
    let waiting = Task { _ = try await pacer.slot(for: key) }
    try await clock.waitForSleepers(count: 1)
    waiting.cancel()
    let error = await #expect(throws: TransportError.self) { try await waiting.value }
    #expect(error?.code == .cancelled)
    clock.advance(by: .seconds(1))
    #expect(try await pacer.slot(for: key).waited == .zero)
  }

  @Test("Without a wait, a blocked request fails at once, and status gives the reason")
  func refuses() async throws {
    let clock = ManualClock()
    let pacer = Pacer(PacingPolicy(maximumWait: .zero), time: clock.timeSource)
    let key = ResilienceKey(try Origin("https://api.example.org"))
    let slot = try await pacer.slot(for: key)
    let asked = pacer.learn(slot, from: .init(status: 503, headerFields: [.retryAfter: "7"]))
    #expect(asked == .seconds(7))
    #expect(pacer.status(of: key).blocked == .seconds(7))
    let error = await #expect(throws: TransportError.self) { _ = try await pacer.slot(for: key) }
    #expect(error?.code == .rateLimited)
    clock.advance(by: .seconds(7))
    #expect(pacer.status(of: key).blocked == nil)
    _ = try await pacer.slot(for: key)
  }
}
