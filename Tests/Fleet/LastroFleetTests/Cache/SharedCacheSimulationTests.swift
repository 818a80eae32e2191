// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroEveryday
import LastroFleet
import LastroSimulation
import LastroSupport
import LastroTesting
import Logging
import Testing

@Suite("One cache for twenty simulated instances", .timeLimit(.minutes(30)))
struct SharedCacheSimulationTests {
  private static let count = 20

  /// Returns a run in which each instance requests a resource every second, which is fresh for ten.
  private func run(
    seconds: Int, isShared: Bool = true, faults: [SimulatedFault] = [], whileDown: Range<Int> = 0..<0
  ) async throws -> SimulationTrace {
    let stores = SimulatedStore()
    let simulation = Simulation(limit: .seconds(120)) { world in
      try world.server("https://api.example") { _ in
        try await Task.sleep(for: .milliseconds(100))
        return LoopbackResponse(headers: ["Cache-Control": "max-age=10"], body: Array("fine".utf8))
      }
      world.machine("shop", count: Self.count) { machine in
        let time = machine.timeSource
        let (store, start) = stores.shared(by: machine)
        var configuration = StackConfiguration()
        configuration.cache =
          isShared
          ? try HTTPCache().shared(
            in: store, as: "api", sealedWith: SealingKey(base64: Secret(testKey)),
            logger: Logger(label: "fleet") { _ in SwiftLogNoOpLogHandler() }, time: time) : HTTPCache()
        let stack = machine.stack(configuration)
        while time.now() - start < .seconds(seconds) {
          let second = Int((time.now() - start) / .seconds(1))
          store.fail(whileDown.contains(second) ? MemoryFleetStore.down : nil)
          _ = try? await stack.fetch(.text("https://api.example/"))
          try await Task.sleep(for: .seconds(1))
        }
      }
    }
    return try await simulation.run(seed: 1, faults: .exactly(faults))
  }

  private func failures(_ trace: SimulationTrace) -> Int {
    trace.calls.count { $0.failure != nil && !$0.wasAbandoned }
  }

  @Test("Equal requests of all instances at once become one, where each would send its own otherwise")
  func one() async throws {
    let alone = try await run(seconds: 1, isShared: false)
    #expect(alone.requests.count == Self.count && failures(alone) == 0)
    let trace = try await run(seconds: 1)
    #expect(trace.requests.count == 1 && failures(trace) == 0 && trace.programErrors == [])
    #expect(trace.calls.count == Self.count)
  }

  @Test("In a minute the server gets one request for each time that the response becomes stale")
  func minute() async throws {
    let trace = try await run(seconds: 60)
    #expect((5...7).contains(trace.requests.count), "\(trace.requests.count)")
    #expect(failures(trace) == 0 && trace.calls.count >= Self.count * 50)
  }

  @Test("With crashes each second the server gets one request more for each crash at most, and no call fails")
  func crashes() async throws {
    let faults = (0..<30).map { number in
      SimulatedFault.crash(
        "shop-\(1 + number % Self.count)", at: .milliseconds(number * 1_000 + 50), restartAfter: .milliseconds(200))
    }
    let trace = try await run(seconds: 30, faults: faults)
    #expect((3...3 + faults.count).contains(trace.requests.count), "\(trace.requests.count)")
    #expect(failures(trace) == 0 && trace.programErrors == [])
  }

  @Test("While the store is down each instance has its own cache, and no call fails")
  func down() async throws {
    let trace = try await run(seconds: 40, whileDown: 15..<30)
    #expect((4...4 + 3 * Self.count).contains(trace.requests.count), "\(trace.requests.count)")
    #expect(failures(trace) == 0 && trace.programErrors == [])
  }
}
