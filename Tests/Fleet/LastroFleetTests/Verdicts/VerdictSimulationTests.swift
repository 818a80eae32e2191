// SPDX-License-Identifier: Apache-2.0

import Testing

@Suite("One verdict for fifty simulated instances", .timeLimit(.minutes(30)))
struct VerdictSimulationTests {
  @Test("Sharing spares most of the failed requests and most of the probes, and the fleet returns as soon")
  func shared() async throws {
    let all = try await VerdictSimulation.all.value
    let (alone, shared) = (all[0], all[1])
    #expect(2 * shared.failed < alone.failed, "\(alone) \(shared)")
    #expect(3 * shared.probes < alone.probes, "\(alone) \(shared)")
    #expect(shared.recovered < alone.recovered + 5, "\(alone) \(shared)")
  }

  @Test("No instance is kept off for longer than the longest break of its policy")
  func longest() async throws {
    for figures in try await VerdictSimulation.all.value {
      #expect(figures.longestOff <= VerdictSimulation.longestBreak, "\(figures)")
    }
  }

  @Test("Without the store, instances do what they do alone; if some reach it, those have its effect")
  func partitions() async throws {
    let all = try await VerdictSimulation.all.value
    let (alone, shared, some, none) = (all[0], all[1], all[2], all[3])
    #expect(none.failed >= alone.failed * 9 / 10 && none.failed <= alone.failed * 11 / 10, "\(none) \(alone)")
    #expect((shared.failed...none.failed).contains(some.failed), "\(some)")
  }

  @Test("An instance that is cut off from a server that works refuses no call of the others")
  func cutOff() async throws {
    let figures = try #require(try await VerdictSimulation.all.value.last)
    #expect(figures.refused == 0, "\(figures)")
  }

  @Test("Before the outage an instance makes one round trip in four seconds or more")
  func trips() async throws {
    let figures = try await VerdictSimulation.all.value[1]
    #expect(figures.trips > 0 && figures.trips <= 0.25, "\(figures.trips)")
  }
}
