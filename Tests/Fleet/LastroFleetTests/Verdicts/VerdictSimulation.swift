// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroFleet
import LastroResilience
import LastroSimulation
import LastroSupport
import LastroTesting
import Logging

/// Fifty instances that call one server, which fails from second 40 to second 160. Whole stacks and the engine run over a
/// simulated network; the store is in memory, with round trips of about a millisecond.
struct VerdictSimulation {
  static let instances = 50
  /// Returns the mean time between two calls of an instance: every tenth makes ten calls a second.
  private static func interval(_ number: Int) -> Duration { number % 10 == 1 ? .milliseconds(100) : .seconds(1) }

  static let outage = Duration.seconds(40)..<Duration.seconds(160)
  static let end = Duration.seconds(190)
  /// The longest break of the policy, which is the standard one.
  static let longestBreak = Duration.seconds(60)

  /// What fails in a run.
  struct Setting: Sendable {
    let name: String
    var isShared = true
    /// Whether the server fails.
    var isOutage = true
    /// The number of instances that do not reach the store.
    var withoutStore = 0
    /// The number of instances whose requests alone fail during that time, if the server does not.
    var cutOff = 0
  }

  static let settings = [
    Setting(name: "not shared", isShared: false),
    Setting(name: "shared"),
    Setting(name: "shared; 20 of 50 do not reach the store", withoutStore: 20),
    Setting(name: "shared; the store is down", withoutStore: instances),
  ]
  /// The run in which one instance does not reach a server that works.
  static let broken = Setting(name: "one instance is cut off from the server", isOutage: false, cutOff: 1)

  struct Figures: Sendable {
    var setting: Setting
    /// The number of failed requests before an instance's circuit opened, for all instances.
    var failed = 0
    /// The number of requests that were sent to the failing server after that, for each 5 s.
    var probes = 0.0
    /// The longest time in which all calls of an instance were refused.
    var longestOff = Duration.zero
    /// The seconds from the server's return until half of the instances, and all of them, have succeeded.
    var halfRecovered = Double.infinity
    var recovered = Double.infinity
    /// The number of calls that were refused on instances that are not cut off.
    var refused = 0
    /// The number of operations of the store, for each instance and second before the outage.
    var trips = 0.0
  }

  /// The figures of each setting, for the tests and for the page.
  static let all: Task<[Figures], any Error> = Task {
    var all: [Figures] = []
    for setting in settings + [broken] { all.append(try await run(setting)) }
    return all
  }

  /// The store as an instance reaches it.
  private struct Reach: FleetStore {
    let base: MemoryFleetStore
    let isUp: Bool

    func read(_ key: String) async throws(FleetStoreError) -> StoredValue {
      guard isUp else { throw MemoryFleetStore.down }
      return try await base.read(key)
    }

    func set(
      _ key: String, to new: [UInt8], ifCurrently old: [UInt8]?, expiresAfter lifetime: Duration
    ) async throws(FleetStoreError) -> StoredValue {
      guard isUp else { throw MemoryFleetStore.down }
      return try await base.set(key, to: new, ifCurrently: old, expiresAfter: lifetime)
    }
  }

  private struct Shared {
    var store: MemoryFleetStore
    var start: Duration
    var tripsBefore: Int?
  }

  static func run(_ setting: Setting) async throws -> Figures {
    let shared = Lock<Shared?>(nil), starts = Lock(0)
    let simulation = Simulation(limit: .seconds(400)) { world in
      let start = Lock<ContinuousClock.Instant?>(nil)
      try world.server("https://api.example") { request in
        let begin = start.withLock { start in
          start = start ?? .now
          return start ?? .now
        }
        let number = Int(request.target.dropFirst()) ?? 0
        let isFailing = outage.contains(ContinuousClock.now - begin) && (setting.isOutage || number <= setting.cutOff)
        return LoopbackResponse(status: isFailing ? 503 : 200)
      }
      world.machine("shop", count: instances) { machine in
        let number = starts.withLock { starts in
          starts += 1
          return starts
        }
        let time = machine.timeSource, random = machine.randomSource
        let state = shared.withLock { shared in
          let made =
            shared
            ?? Shared(
              store: MemoryFleetStore(now: { time.sinceEpoch() }) {
                try? await Task.sleep(for: .microseconds(Int64(200 + random.next() % 400)))
              }, start: time.now())
          shared = made
          return made
        }
        var breaker = try CircuitBreaker(time: time, random: random)
        if setting.isShared {
          breaker = try breaker.shared(
            in: Reach(base: state.store, isUp: number > setting.withoutStore), as: "shop",
            logger: Logger(label: "fleet") { _ in SwiftLogNoOpLogHandler() })
        }
        var configuration = StackConfiguration()
        configuration.resilience = Resilience(breaker: breaker)
        let stack = machine.stack(configuration)
        while time.now() - state.start < end {
          // Between half and one and a half of the mean.
          try await Task.sleep(for: interval(number) * (0.5 + random.unit()))
          if time.now() - state.start >= outage.lowerBound {
            shared.withLock { shared in
              if shared?.tripsBefore == nil { shared?.tripsBefore = state.store.reads + state.store.attempts }
            }
          }
          _ = try? await stack.fetch(.text("https://api.example/\(number)"))
        }
      }
    }
    let trace = try await simulation.run(seed: 1)
    var figures = figures(of: trace, setting)
    let trips = Double(shared.withLock { $0?.tripsBefore } ?? 0)
    figures.trips = trips / Double(instances) / outage.lowerBound.inSeconds
    return figures
  }

  private static func figures(of trace: SimulationTrace, _ setting: Setting) -> Figures {
    var figures = Figures(setting: setting)
    var sent = 0, recoveries: [Double] = []
    let first = trace.calls.map(\.start).min() ?? .zero
    for calls in Dictionary(grouping: trace.calls, by: \.machine).values {
      var hasOpened = false, offSince: Duration?, recovery = Double.infinity
      let number = calls.compactMap { $0.url.split(separator: "/").last.flatMap { Int($0) } }.first ?? 0
      let isCutOff = number <= setting.cutOff
      for call in calls.sorted(by: { $0.start < $1.start }) {
        let isRefused = call.failure?.hasPrefix("policy/circuit_open") ?? false
        if isRefused {
          hasOpened = true
          if !isCutOff { figures.refused += 1 }
          offSince = offSince ?? call.start
          figures.longestOff = max(figures.longestOff, call.start - (offSince ?? call.start))
          continue
        }
        offSince = nil
        let time = call.start - first
        if setting.isOutage, outage.contains(time), !call.hasSucceeded {
          if hasOpened { sent += 1 } else { figures.failed += 1 }
        } else if time >= outage.upperBound, call.hasSucceeded {
          recovery = min(recovery, (time - outage.upperBound).inSeconds)
        }
      }
      recoveries.append(recovery)
    }
    recoveries.sort()
    figures.probes = Double(sent) / ((outage.upperBound - outage.lowerBound).inSeconds / 5)
    figures.halfRecovered = recoveries[recoveries.count / 2]
    figures.recovered = recoveries[recoveries.count - 1]
    return figures
  }
}
