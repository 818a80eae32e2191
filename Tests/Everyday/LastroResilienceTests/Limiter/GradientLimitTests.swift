// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

/// Gradient2 with the constants of Netflix's `concurrency-limits`: a tolerance of 1.5, a queue of 4, a smoothing of
/// 0.2, and a long-term mean over 600 windows. The expected numbers are worked out from these by hand.
@Suite("Gradient limit", .ownThread)
struct GradientLimitTests {
  /// A limit from 20 to 200 that learns one window of a second at a time.
  private struct Driven {
    private(set) var limit = ConcurrencyLimit(.gradient(initial: 50, range: 20...200))
    private(set) var now = Duration.zero

    var exact: Double { limit.exact }

    /// Learns from `windows` windows of ten attempts each. The last attempt ends a second after the others.
    mutating func learn(_ milliseconds: Int, windows: Int = 1, inUse: Int = 200) {
      for _ in 0..<windows {
        for _ in 0..<9 { learnOne(milliseconds, inUse) }
        now += .seconds(1)
        learnOne(milliseconds, inUse)
      }
    }

    mutating func wait(_ duration: Duration) { now += duration }

    mutating func learnOne(_ milliseconds: Int, _ inUse: Int = 200) {
      limit.learn(.init(duration: .milliseconds(milliseconds), inUse: inUse, isDropped: false, began: now), now: now)
    }
  }

  private func isNear(_ value: Double, _ expected: Double) -> Bool { abs(value - expected) < 1e-6 }

  @Test("A steady latency raises the limit by a fifth of the queue of 4 with each window")
  func steady() {
    var limit = Driven()
    limit.learn(10)
    #expect(isNear(limit.exact, 50.8))
    limit.learn(10, windows: 9)
    #expect(isNear(limit.exact, 58))
  }

  @Test("A latency within the tolerance of one and a half raises the limit as before")
  func tolerated() {
    var limit = Driven()
    limit.learn(10, windows: 20)
    #expect(isNear(limit.exact, 66))
    limit.learn(14)
    #expect(isNear(limit.exact, 66.8))
  }

  @Test("Twice the latency lowers the limit: the gradient is three quarters, and little more for the long-term mean")
  func doubled() {
    var limit = Driven()
    limit.learn(10, windows: 20)
    limit.learn(20)
    // The mean is 10 · (1 + 2/601) ms, the gradient 1.5 · mean / 20 ms: 66 · (0.8 + 0.2 · 0.752495840…) + 0.8.
    #expect(isNear(limit.exact, 63.532945))
  }

  @Test("However high the latency, a window takes a tenth of the limit at most")
  func floor() {
    for milliseconds in [100, 1_000, 60_000] {
      var limit = Driven()
      limit.learn(10, windows: 20)
      limit.learn(milliseconds)
      #expect(isNear(limit.exact, 66 * 0.9 + 0.8), "\(milliseconds)")
    }
  }

  @Test("The limit recovers when the latency does, and stays in its range")
  func recovery() {
    var limit = Driven()
    limit.learn(10, windows: 300)
    #expect(limit.exact == 200)
    limit.learn(1_000, windows: 30)
    #expect(limit.exact == 20)
    for _ in 0..<100 {
      let before = limit.exact
      limit.learn(10)
      #expect(isNear(limit.exact, before + 0.8))
    }
    #expect(isNear(limit.exact, 100))
  }

  @Test("A slow beginning is forgotten: once the latency has been low, the old value counts as a rise")
  func slowBeginning() {
    var limit = Driven()
    limit.learn(100, windows: 10)
    limit.learn(10, windows: 60)
    let before = limit.exact
    limit.learn(100)
    #expect(limit.exact < before)
  }

  @Test("A limit of which less than half is used is unchanged, whatever the latency")
  func unused() {
    var limit = Driven()
    for milliseconds in [10, 100, 1] { limit.learn(milliseconds, inUse: 24) }
    #expect(limit.exact == 50)
    var half = Driven()
    half.learn(10, inUse: 25)
    #expect(isNear(half.exact, 50.8))
  }

  @Test("Fewer than ten attempts, or less than a second, change nothing")
  func windows() {
    var few = Driven()
    for _ in 0..<9 {
      few.learnOne(10)
      few.wait(.seconds(1))
    }
    #expect(few.exact == 50)
    few.learnOne(10)
    #expect(isNear(few.exact, 50.8))
    var short = Driven()
    for _ in 0..<1_000 { short.learnOne(10) }
    short.wait(.milliseconds(999))
    short.learnOne(10)
    #expect(short.exact == 50)
    short.wait(.milliseconds(1))
    short.learnOne(10)
    #expect(isNear(short.exact, 50.8))
  }

  @Test("With random latencies the limit stays in its range, and a window adds at most 0.8 and removes at most a tenth")
  func bounds() {
    for seed in 0..<500 {
      let random = RandomSource.seeded(UInt64(seed))
      var limit = Driven()
      var isWithin = true
      for _ in 0..<200 {
        let before = limit.exact
        limit.learn([1, 5, 10, 40, 1_000][random.roll(5)] * (1 + random.roll(9)), inUse: random.roll(201))
        let least = max(20, before * 0.9)
        isWithin = isWithin && (20...200).contains(limit.exact) && (least - 1e-9...before + 0.8 + 1e-9) ~= limit.exact
      }
      #expect(isWithin, "seed \(seed)")
    }
  }

  @Test("A limiter learns from attempts that were measured or dropped, and not from those that are ignored")
  func loads() throws {
    for load in LoadSample.allCases {
      var machine = LimiterMachine(.gradient(initial: 6, range: 2...8), capacity: 3)
      var now = Duration.zero
      for _ in 0..<4 {
        var grants: [LimiterMachine.Grant] = []
        for _ in 0..<3 {
          if case .admitted(let grant) = machine.ask(now: now, left: nil) { grants.append(grant) }
        }
        now += .milliseconds(400)
        for grant in grants { _ = machine.end(grant, load, now: now) }
      }
      #expect(isNear(machine.limit.exact, load == .ignored ? 6 : 6.8), "\(load)")
    }
  }
}
