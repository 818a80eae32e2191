// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroEveryday
import LastroFleet
import LastroSimulation
import LastroTesting
import Logging

/// Twenty instances that request one resource every second, which is fresh for ten. Whole stacks and the engine run over
/// a simulated network; the store is in memory, with round trips of about a millisecond.
struct SharedCacheSimulation {
  static let instances = 20
  static let seconds = 60

  /// The faults of a run.
  struct Setting: Sendable {
    let name: String
    var isShared = true
    /// Whether an instance crashes each second, and starts again.
    var crashes = false
    /// The seconds in which the store is down.
    var down = 0..<0
  }

  static let settings = [
    Setting(name: "not shared", isShared: false),
    Setting(name: "shared"),
    Setting(name: "shared; each second an instance crashes", crashes: true),
    Setting(name: "shared; the store is down for 15 s", down: 15..<30),
  ]

  struct Figures: Sendable {
    var setting: Setting
    /// The number of requests that the server received, in all and in the busiest tenth of a second.
    var requests = 0
    var atOnce = 0
    var calls = 0
    var failures = 0
    var programErrors: [String] = []
    /// The number of operations of the store for each call.
    var trips = 0.0
  }

  /// The figures of each setting, for the tests and for the page.
  static let all: Task<[Figures], any Error> = Task {
    var all: [Figures] = []
    for setting in settings { all.append(try await run(setting)) }
    return all
  }

  private static func run(_ setting: Setting) async throws -> Figures {
    let stores = SimulatedStore()
    let simulation = Simulation(limit: .seconds(120)) { world in
      try world.server("https://api.example") { _ in
        try await Task.sleep(for: .milliseconds(100))
        return LoopbackResponse(headers: ["Cache-Control": "max-age=10"], body: Array("fine".utf8))
      }
      world.machine("shop", count: instances) { machine in
        let time = machine.timeSource
        let (store, start) = stores.shared(by: machine)
        var configuration = StackConfiguration()
        configuration.cache =
          setting.isShared
          ? try HTTPCache().shared(
            in: store, as: "api", sealedWith: SealingKey(base64: Secret(testKey)),
            logger: Logger(label: "fleet") { _ in SwiftLogNoOpLogHandler() }, time: time) : HTTPCache()
        let stack = machine.stack(configuration)
        while time.now() - start < .seconds(seconds) {
          let second = Int((time.now() - start) / .seconds(1))
          store.fail(setting.down.contains(second) ? MemoryFleetStore.down : nil)
          _ = try? await stack.fetch(.text("https://api.example/"))
          try await Task.sleep(for: .seconds(1))
        }
      }
    }
    let faults = (0..<(setting.crashes ? seconds : 0)).map { number in
      SimulatedFault.crash(
        "shop-\(1 + number % instances)", at: .milliseconds(number * 1_000 + 50), restartAfter: .milliseconds(200))
    }
    let trace = try await simulation.run(seed: 1, faults: .exactly(faults))
    var figures = Figures(setting: setting)
    figures.requests = trace.requests.count
    let times = trace.requests.map(\.time)
    figures.atOnce = times.map { end in times.count { $0 <= end && end - $0 < .milliseconds(100) } }.max() ?? 0
    figures.calls = trace.calls.count
    figures.failures = trace.calls.count { $0.failure != nil && !$0.wasAbandoned }
    figures.programErrors = trace.programErrors.map { "\($0)" }
    figures.trips = Double(stores.operations) / Double(max(1, trace.calls.count))
    return figures
  }
}
