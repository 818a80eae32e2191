// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// A simple model of the health of endpoints that ignores cost.
private struct EndpointModel {
  struct Member {
    var out = 0
    var failures = 0
    var ejections = 0
    var until: Int?
  }

  var members = Array(repeating: Member(), count: 3)
  var swept: Int?

  func isHealthy(_ index: Int, _ now: Int) -> Bool { members[index].until ?? 0 <= now }

  /// Records that a member was chosen. Every ten seconds, each member that is not ejected is forgiven one ejection.
  mutating func chosen(_ index: Int, _ now: Int) {
    var sweeps = 0
    swept = swept ?? now
    while let last = swept, now - last >= 10_000 {
      swept = last + 10_000
      sweeps += 1
    }
    for index in members.indices {
      if let until = members[index].until {
        if now >= until { members[index].until = nil }
      } else {
        members[index].ejections = max(0, members[index].ejections - sweeps)
      }
    }
    members[index].out += 1
  }

  mutating func ended(_ index: Int, _ verdict: AttemptVerdict, _ now: Int) {
    members[index].out -= 1
    if verdict == .success { members[index].failures = 0 }
    guard verdict == .failure else { return }
    members[index].failures += 1
    // Only one of three members is ejected at a time.
    guard members[index].failures >= 2, members.indices.allSatisfy({ isHealthy($0, now) }) else { return }
    members[index].failures = 0
    members[index].ejections += 1
    members[index].until = now + min(300_000, 30_000 * members[index].ejections)
  }
}

@Suite("Endpoint selection against a model", .ownThread)
struct EndpointModelTests {
  @Test("In 10,000 random histories endpoints are ejected and return as in the model, and every lease is returned")
  func histories() throws {
    let outliers = OutlierPolicy(consecutiveFailures: 2)
    let endpoints = try (0..<3).map { try Endpoint("https://api\($0).example.org") }
    let seen = try Histories.play { seed, random in
      var machine = EndpointMachine(endpoints, policy: BalancingPolicy.allCases[seed % 2], outliers: outliers)
      var model = EndpointModel()
      var out: [Int] = []
      var steps: [String] = []
      var now = 0
      for _ in 0..<40 {
        now += random.roll(6) == 0 ? random.roll(40_000) : random.roll(900)
        if out.isEmpty || random.roll(2) == 0 {
          let tried = Set((0..<3).filter { _ in random.roll(4) == 0 })
          let chosen = machine.choose(avoiding: tried, now: .milliseconds(now)) { random.unit() }.id
          model.chosen(chosen, now)
          // A member that was tried, or is ejected, is chosen only if there is no other.
          let better = (0..<3).filter { model.isHealthy($0, now) && !tried.contains($0) }
          guard better.isEmpty || better.contains(chosen) else {
            throw Histories.Difference(seed: seed, what: "\(chosen), not of \(better)")
          }
          out.append(chosen)
        } else {
          let ended = out.remove(at: random.roll(out.count))
          let verdict = AttemptVerdict.allCases[random.roll(3)]
          machine.end(ended, verdict, latency: .milliseconds(random.roll(50)), now: .milliseconds(now))
          let before = model.members[ended].until
          model.ended(ended, verdict, now)
          if before != model.members[ended].until { steps.append("ejection \(min(2, model.members[ended].ejections))") }
        }
        for index in 0..<3 {
          let member = machine.members[index]
          guard member.isHealthy(.milliseconds(now)) == model.isHealthy(index, now),
            member.inUse == model.members[index].out
          else { throw Histories.Difference(seed: seed, what: "\(index) at \(now)") }
        }
      }
      for ended in out { machine.end(ended, .ignored, latency: .zero, now: .milliseconds(now)) }
      guard machine.members.allSatisfy({ $0.inUse == 0 }) else {
        throw Histories.Difference(seed: seed, what: "a lease is out")
      }
      return steps
    }
    for step in ["ejection 1", "ejection 2"] { #expect(seen[step, default: 0] > 50, "\(step): \(seen)") }
  }
}
