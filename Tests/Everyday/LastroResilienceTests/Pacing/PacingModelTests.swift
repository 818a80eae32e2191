// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// A simple model of a pace that ignores cost: it keeps every place that was taken.
private struct PaceModel {
  static let interval = 100
  static let burst = 3

  var places: [Int] = []

  /// Reserves the next place. Each place that was taken uses up an interval, which starts at its time or at the end of
  /// the interval of the place before it.
  mutating func reserve(_ now: Int) -> Int {
    let used = places.indices.map { places[$0] + (places.count - $0) * Self.interval }.max() ?? 0
    let place = max(now, used - (Self.burst - 1) * Self.interval)
    places.append(place)
    return place
  }
}

@Suite("Pacing against a model", .ownThread)
struct PacingModelTests {
  private static func milliseconds(_ time: Duration) -> Int { Int((time / .milliseconds(1)).rounded()) }

  @Test("In 10,000 random histories the slots are those of the model, and a returned slot is assigned again")
  func pace() throws {
    let seen = try Histories.play { seed, random in
      var machine = PacingMachine(pace: try Pacer.Pace(perSecond: 10, burst: PaceModel.burst))
      var model = PaceModel()
      var newest: PacingMachine.Reservation?
      var steps: [String] = []
      var now = 1_000
      for _ in 0..<40 {
        now += random.roll(8) == 0 ? random.roll(900) : random.roll(120)
        if random.roll(4) > 0 {
          let place = machine.reserve(now: .milliseconds(now), unit: 0)
          let expected = model.reserve(now)
          guard Self.milliseconds(place.slot) == expected else {
            throw Histories.Difference(seed: seed, what: "\(place.slot) at \(now), not \(expected)")
          }
          newest = place
          steps.append(expected > now ? "waits" : "at once")
        } else if let last = newest.take() {
          machine.giveBack(last)
          model.places.removeLast()
          steps.append("given back")
        }
      }
      return steps
    }
    for step in ["waits", "at once", "given back"] { #expect(seen[step, default: 0] > 1_000, "\(step)") }
  }

  @Test("In 10,000 random histories nothing is sent during Retry-After or beyond the quota")
  func server() throws {
    let seen = try Histories.play { seed, random in
      var machine = PacingMachine()
      var blockedUntil = 0
      var quota: (left: Int, until: Int)?
      var steps: [String] = []
      var now = 1_000
      for _ in 0..<40 {
        now += random.roll(700)
        let place = machine.reserve(now: .milliseconds(now), unit: 0)
        let number = machine.send(place)
        let slot = Self.milliseconds(place.slot)
        guard slot >= max(now, blockedUntil) else {
          throw Histories.Difference(seed: seed, what: "\(slot) before \(blockedUntil)")
        }
        if blockedUntil > now { steps.append("closed") }
        if let told = quota, slot < told.until {
          guard told.left > 0 else { throw Histories.Difference(seed: seed, what: "\(slot) beyond the quota") }
          quota = (told.left - 1, told.until)
          steps.append("of the quota")
        }
        switch random.roll(12) {
        case 0:
          let wait = 1 + random.roll(3)
          machine.learn(
            number: number, quota: nil, retryAfter: .seconds(wait), now: .milliseconds(now))
          blockedUntil = max(blockedUntil, now + wait * 1_000)
        case 1:
          let (left, reset) = (random.roll(6), 1 + random.roll(4))
          machine.learn(
            number: number, quota: ServerQuota(left: left, reset: .seconds(reset), whole: 100), retryAfter: nil,
            now: .milliseconds(now))
          quota = (left, now + reset * 1_000)
        default: break
        }
      }
      return steps
    }
    for step in ["closed", "of the quota"] { #expect(seen[step, default: 0] > 1_000, "\(step)") }
  }
}
