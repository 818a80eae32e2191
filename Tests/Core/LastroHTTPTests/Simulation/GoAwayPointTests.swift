// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import LastroHTTP

@Suite("GOAWAY at every point of uploads", .ownThread, .serialized)
struct GoAwayPointTests {
  private struct Sums {
    var runs = 0
    var goAways = 0
    var failures = 0
    var resends = 0
  }

  /// Runs plans until one has a fault.
  private func run(_ plans: [GoAwayRun.Plan]) -> Sums {
    var sums = Sums()
    for plan in plans {
      let run = GoAwayRun(plan)
      run.run()
      if let fault = run.faults.first {
        Issue.record("\(fault)")
        break
      }
      sums.runs += 1
      sums.goAways += run.sentGoAways
      sums.failures += run.failures
      sums.resends += run.resends
    }
    return sums
  }

  /// Returns the plans to run: all plans, or a stride over a share of them if the test run is reduced.
  ///
  /// - Parameter share: the share of the plans to which the stride applies. Default: 1.
  private func some(of plans: [GoAwayRun.Plan], share: Double = 1) -> [GoAwayRun.Plan] {
    // The plans are shuffled, so that no stride selects a single kind.
    var random = SeededGenerator(seed: 1)
    let count = SeedStride.value == 1 ? plans.count : Int(Double(plans.count) * share)
    return SeedStride.some(of: Array(plans.shuffled(using: &random).prefix(count)))
  }

  @Test(
    "Each of a hundred uploads is processed once, or it is a POST that fails and reports that it was sent",
    arguments: GoAwayRun.LastStream.allCases)
  func hundred(_ lastStream: GoAwayRun.LastStream) {
    let all = (1...100 * GoAwayRun.frames).map { point in
      GoAwayRun.Plan(
        uploads: 100, point: point, lastStream: lastStream, capacity: point.isMultiple(of: 3) ? 1_000 : .max)
    }
    // Running all plans takes half a minute in a debug build.
    let plans = some(of: all, share: 0.2)
    let sums = run(plans)
    #expect(sums.runs == plans.count && sums.goAways == sums.runs && sums.runs > 0)
    #expect((sums.failures > 0) == (lastStream == .cut), "\(sums)")
  }

  @Test(
    "The same holds for few uploads on new and used connections, whatever part of them the peer has accepted",
    arguments: [true, false])
  func few(isWarm: Bool) {
    // A client that does not know the server's limits sends a body in a single frame.
    let points = 1...5 * (isWarm ? GoAwayRun.frames : 2)
    var plans: [GoAwayRun.Plan] = []
    for point in points {
      for lastStream in GoAwayRun.LastStream.allCases {
        for capacity in [Int.max, 300, 40] {
          plans.append(
            GoAwayRun.Plan(uploads: 5, point: point, lastStream: lastStream, capacity: capacity, isWarm: isWarm))
        }
      }
    }
    plans = some(of: plans)
    let sums = run(plans)
    #expect(sums.runs == plans.count && sums.runs > 0 && sums.goAways == sums.runs)
    #expect(sums.failures > 0 && sums.resends > 0, "\(sums)")
  }

  @Test("Uploads that every connection excludes fail unprocessed and report that")
  func everyConnection() {
    var plans: [GoAwayRun.Plan] = []
    for point in 1...8 {
      for capacity in [Int.max, 300, 40] {
        plans.append(
          GoAwayRun.Plan(uploads: 4, point: point, lastStream: .processed, capacity: capacity, repeats: true))
      }
    }
    plans = some(of: plans)
    let sums = run(plans)
    #expect(sums.runs == plans.count && sums.runs > 0 && sums.goAways > sums.runs)
    #expect(sums.failures > 0 && sums.resends > 0, "\(sums)")
  }
}
