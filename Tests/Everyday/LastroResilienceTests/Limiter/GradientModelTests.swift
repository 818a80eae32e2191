// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// Gradient2 as one would write it without a thought of cost: it keeps every sample and every mean, and reckons what it
/// knows from the beginning each time.
private struct GradientModel {
  struct Sample {
    var seconds: Double
    var inUse: Int
    var ended: Int
  }

  static let range = 2.0...8.0

  var limit = 6.0
  /// The samples of the current window, which begins with the first sample after the last window.
  private var samples: [Sample] = []
  private var lastWindow: Int?
  private var means: [Double] = []
  /// The steps that were taken, in order.
  private(set) var steps: [String] = []

  mutating func learn(_ sample: Sample) {
    guard sample.seconds >= 0.0001 else { return steps.append("too short") }
    samples.append(sample)
    guard samples.count >= 10 else { return }
    guard sample.ended - (lastWindow ?? samples[0].ended) >= 1_000 else { return }
    let mean = samples.reduce(0) { $0 + $1.seconds } / Double(samples.count)
    let busiest = samples.map(\.inUse).max() ?? 0
    means.append(mean)
    (samples, lastWindow) = ([], sample.ended)
    change(to: mean, busiest)
  }

  /// The mean of all windows: plain of the first ten, then ever less of the old ones.
  private var longMean: Double {
    var long = 0.0
    for (index, mean) in means.enumerated() {
      long += (mean - long) * (index < 10 ? 1 / Double(index + 1) : 2.0 / 601)
      if long > 2 * mean { long *= 0.95 }
    }
    return long
  }

  private mutating func change(to mean: Double, _ busiest: Int) {
    if longMean > 1.9 * mean { steps.append("fast again") }
    guard Double(busiest) >= limit / 2 else { return steps.append("idle") }
    let gradient = max(0.5, min(1, 1.5 * longMean / mean))
    let wanted = 0.8 * limit + 0.2 * (gradient * limit + 4)
    let next = min(Self.range.upperBound, max(Self.range.lowerBound, wanted))
    steps.append(next != wanted ? "at its end" : next > limit ? "more" : "less")
    limit = next
  }
}

@Suite("Gradient model", .ownThread)
struct GradientModelTests {
  /// A call that has begun and has not ended.
  private struct Out {
    var grant: LimiterMachine.Grant
    var began: Int
    var inUse: Int
  }

  @Test("10,000 random histories: a limiter that follows the gradient has its model's limit after each of them")
  func histories() throws {
    let seen = try Histories.play { seed, random in
      var machine = LimiterMachine(.gradient(initial: 6, range: 2...8), capacity: 3)
      var model = GradientModel()
      var out: [Out] = []
      var began: [UInt64: Int] = [:]
      var now = 0
      // How long attempts take changes from stretch to stretch, and some histories are of few that are under way.
      let most = seed % 4 == 0 ? 2 : 8
      var pace = 40
      func differ(_ what: String) -> Histories.Difference { .init(seed: seed, what: "\(what) at \(now)") }
      func end(_ load: LoadSample) throws {
        let ended = out.removeFirst()
        if load != .ignored {
          model.learn(.init(seconds: Double(now - ended.began) / 1_000, inUse: ended.inUse, ended: now))
        }
        var inUse = out.count
        for (ticket, grant) in machine.end(ended.grant, load, now: .milliseconds(now)) {
          guard began.removeValue(forKey: ticket) != nil else { throw differ("\(ticket) let in") }
          inUse += 1
          out.append(Out(grant: grant, began: now, inUse: inUse))
        }
        guard abs(machine.limit.exact - model.limit) < 1e-9 else {
          throw differ("\(machine.limit.exact), not \(model.limit)")
        }
        guard machine.inUse == out.count, machine.inUse <= 8 else { throw differ("\(machine.inUse) are out") }
      }
      for step in 0..<200 {
        if step % 50 == 0 { pace = [1, 40, 120, 300][random.roll(4)] }
        now += random.roll(2 * pace)
        if out.count < most, random.roll(2) == 0 {
          switch machine.ask(now: .milliseconds(now), left: nil) {
          case .admitted(let grant): out.append(Out(grant: grant, began: now, inUse: out.count + 1))
          case .queued(let ticket): began[ticket] = now
          case .refused: break
          }
        } else if !out.isEmpty {
          try end(LoadSample.allCases[random.roll(8) == 0 ? random.roll(3) : 0])
        }
      }
      while !out.isEmpty { try end(.ignored) }
      guard machine.waitingCount == 0 else { throw differ("one waits") }
      return model.steps
    }
    for step in ["more", "less", "at its end", "idle", "fast again", "too short"] {
      #expect(seen[step, default: 0] > 300, "\(step): \(seen)")
    }
  }
}
