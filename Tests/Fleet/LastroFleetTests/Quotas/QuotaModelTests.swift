// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroResilience
import LastroTesting
import TestSupport
import Testing

@testable import LastroFleet

/// Instances that share a quota, their store, and a server that counts: a bucket that is refilled at the pace and holds
/// the burst. It is the plain model of the promise.
private struct QuotaWorld {
  /// The way of an exchange.
  private enum Exchange {
    case requested(QuotaRecord.Request, start: Duration)
    /// The store has answered, and the instance does not know.
    case answered(QuotaRecord.Request, QuotaRecord.Reply, start: Duration)
  }

  private struct Instance {
    var machine: QuotaMachine
    var exchange: Exchange?
    var blockedUntil = Duration.zero
    var lastID: UInt64 = 0
  }

  private let terms: QuotaTerms
  private let random: RandomSource
  private var instances: [Instance] = []
  private var record: QuotaRecord?
  private var now = Duration.seconds(100)
  private var room: Double
  private var capacity: Double
  private var refilled: Duration
  private var changes: UInt64 = 0
  private(set) var seen: [String: Int] = [:]
  private(set) var broken: String?

  init(_ terms: QuotaTerms, count: Int, random: RandomSource) {
    self.terms = terms
    self.random = random
    (room, capacity, refilled) = (terms.burst, terms.burst, now)
    instances = (0..<count).map { Instance(machine: QuotaMachine(terms, instance: "\($0)", now: now)) }
  }

  private func roll(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

  private mutating func send(_ instance: Int, _ what: String) {
    room = min(capacity, room + terms.perSecond * ((now - refilled) / .seconds(1)))
    refilled = now
    room -= 1
    seen[what, default: 0] += 1
    if room < -0.001 { broken = "a request of \(instance) at \(now) exceeds the quota by \(-room)" }
    if now < instances[instance].blockedUntil { broken = "a request of \(instance) at \(now) while it is blocked" }
  }

  mutating func step() {
    let index = roll(instances.count)
    switch roll(24) {
    case 0..<5: now += terms.lease * (random.unit() * 0.2)
    case 5 where roll(6) == 0: now += terms.lease * (random.unit() * 3)
    case 6..<14:
      for _ in 0...roll(6) {
        if instances[index].machine.ask(now: now) {
          send(index, "at once")
        } else if roll(2) == 0 {
          instances[index].lastID += 1
          instances[index].machine.wait(instances[index].lastID)
        }
      }
    case 14..<20: act(index)
    case 20 where roll(10) == 0:
      let length = terms.lease * random.unit()
      instances[index].machine.block(for: length, now: now)
      instances[index].blockedUntil = max(instances[index].blockedUntil, now + length)
      seen["blocked", default: 0] += 1
    case 21 where roll(10) == 0: leave(index)
    case 22 where roll(10) == 0: restart(index)
    case 23:
      instances[index].machine.cancel(instances[index].lastID)
    default: break
    }
  }

  private mutating func act(_ index: Int) {
    for _ in instances[index].machine.admitted(now: now) { send(index, "after a wait") }
    switch instances[index].exchange {
    case nil:
      if let request = instances[index].machine.exchange(now: now) {
        instances[index].exchange = .requested(request, start: now)
      }
    case .requested(let request, let start):
      switch roll(10) {
      case 0:
        instances[index].exchange = nil
        _ = instances[index].machine.failed(request, isLost: true, now: now, jitter: random.unit())
        seen["not received", default: 0] += 1
      case 1:
        instances[index].exchange = nil
        _ = instances[index].machine.failed(request, isLost: false, now: now, jitter: random.unit())
      default:
        let reply = perform(request)
        instances[index].exchange = .answered(request, reply, start: start)
      }
    case .answered(let request, let reply, let start):
      instances[index].exchange = nil
      if roll(10) == 0 {
        _ = instances[index].machine.failed(request, isLost: true, now: now, jitter: random.unit())
        seen["response lost", default: 0] += 1
        return
      }
      if reply.granted > 0 { seen["granted", default: 0] += 1 }
      if request.gives > 0 { seen["given", default: 0] += 1 }
      if reply.block > .zero {
        instances[index].blockedUntil = max(instances[index].blockedUntil, now + reply.block)
      }
      _ = instances[index].machine.exchanged(request, reply, start: start, now: now, jitter: random.unit())
    }
  }

  private mutating func perform(_ request: QuotaRecord.Request) -> QuotaRecord.Reply {
    changes += 1
    let (next, reply) = QuotaRecord.exchange(record, request, terms, at: now + .seconds(1_000), change: changes)
    if let next { record = next }
    return reply
  }

  private mutating func leave(_ index: Int) {
    guard instances[index].exchange == nil, !instances[index].machine.hasLeft else { return }
    _ = perform(instances[index].machine.leave(now: now))
    seen["left", default: 0] += 1
  }

  /// Ends an instance without notice. Another one takes its place, and may send one request at once.
  private mutating func restart(_ index: Int) {
    let name = "\(instances[index].machine.instance)+"
    instances[index] = Instance(machine: QuotaMachine(terms, instance: name, now: now))
    (room, capacity) = (room + 1, capacity + 1)
    seen["restarted", default: 0] += 1
  }
}

@Suite("Shared quota against a model", .ownThread)
struct QuotaModelTests {
  @Test(
    "In random histories of instances that come, go and lose the store, no period has more requests than the quota",
    arguments: [WhenUnshared.fraction(of: 5), .wait])
  func histories(_ whenUnshared: WhenUnshared) throws {
    var seen: [String: Int] = [:]
    for seed in 0..<400 {
      let random = RandomSource.seeded(UInt64(seed))
      let pace = try Pacer.Pace(perSecond: [10, 1000, 0.1][seed % 3], burst: [1, 40, 300][seed / 3 % 3])
      var world = QuotaWorld(QuotaTerms(pace, whenUnshared), count: 5, random: random)
      for step in 0..<1_000 {
        world.step()
        if let broken = world.broken {
          Issue.record("seed \(seed), step \(step): \(broken)")
          return
        }
      }
      seen.merge(world.seen) { $0 + $1 }
    }
    let events = [
      "at once", "after a wait", "granted", "blocked", "left", "restarted", "not received", "response lost",
    ]
    for event in events + (whenUnshared == .wait ? [] : ["given"]) {
      #expect(seen[event, default: 0] > 500, "\(event): \(seen)")
    }
  }
}
