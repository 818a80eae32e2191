// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation
import LastroSupport
import LastroTesting
import Testing

@testable import LastroResilience

/// Thirty instances of a service that call twenty pods behind one name over HTTP/2. After half of the time a pod leaves
/// the list, and ends five seconds later.
enum PodFleet {
  static let instances = 30
  static let pods = 20
  static let size = 5
  /// The calls of each instance per second.
  static let rate = 5
  static let seconds = 24
  static let change = 12
  static let leaving = 7
  private static let host = "notes.example"

  enum Setting: CaseIterable {
    case none, all, subset

    var name: String {
      switch self {
      case .none: "none: one HTTP/2 connection"
      case .all: "Lastro: all pods"
      case .subset: "Lastro: subsets of \(size) pods"
      }
    }
  }

  struct Result {
    var setting: Setting
    /// The requests to each pod before the change, and after its effects.
    var before: [String: Int] = [:]
    var after: [String: Int] = [:]
    /// The pods that each instance called before the change, and after its effects.
    var usedBefore: [String: Set<String>] = [:]
    var usedAfter: [String: Set<String>] = [:]
    var calls = 0
    var failures: [String] = []

    /// The greatest and the smallest number of requests to a pod before the change, relative to the mean.
    var busiest: Double { Double(before.values.max() ?? 0) / mean }
    var idlest: Double { before.count < pods ? 0 : Double(before.values.min() ?? 0) / mean }
    var figures: String { "\(busiest), \(idlest), \(podsPerInstance): \(before.values.sorted())" }
    private var mean: Double { Double(before.values.reduce(0, +)) / Double(pods) }
    /// The mean number of pods that an instance called before the change.
    var podsPerInstance: Double {
      Double(usedBefore.values.reduce(0) { $0 + $1.count }) / Double(max(1, usedBefore.count))
    }
  }

  /// The results of the settings, for the tests and for the page.
  static let results: Task<[Result], any Error> = Task {
    var results: [Result] = []
    for setting in Setting.allCases { results.append(try await run(setting)) }
    return results
  }

  /// The list of addresses, with a feed for each instance.
  private struct Registry {
    var listed: [String]
    var feeds: [AsyncStream<[String]>.Continuation] = []
  }

  private static func run(_ setting: Setting) async throws -> Result {
    let simulation = Simulation(limit: .seconds(seconds + 60)) { world in
      // The pods are the first machines, and have the first addresses.
      try world.server("https://\(host)", count: pods) { _ in
        try await Task.sleep(for: .milliseconds(20))
        return .text("fine")
      }
      let registry = Lock(Registry(listed: (1...pods).map { "10.0.0.\($0)" }))
      world.machine("registry") { _ in
        try await Task.sleep(for: .seconds(change))
        let (listed, feeds) = registry.withLock { registry in
          registry.listed.removeAll { $0 == "10.0.0.\(leaving)" }
          return (registry.listed, registry.feeds)
        }
        for feed in feeds { feed.yield(listed) }
      }
      world.machine("shop", count: instances) { machine in
        var configuration = StackConfiguration(interceptors: [.retry])
        if setting != .none {
          let (lists, feed) = AsyncStream.makeStream(of: [String].self)
          registry.withLock { registry in
            feed.yield(registry.listed)
            registry.feeds.append(feed)
          }
          var source = try EndpointSource(of: "https://\(host)", addresses: lists)
          let number = Int(machine.name.split(separator: "-").last ?? "1") ?? 1
          if setting == .subset { source = try source.subset(of: size, instance: number - 1) }
          configuration.resilience = Resilience(
            endpoints: try await EndpointSet(following: source, time: machine.timeSource, random: machine.randomSource))
        }
        let stack = machine.stack(configuration), end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
          _ = try? await stack.fetch(.text("https://\(host)/"))
          try await Task.sleep(for: .milliseconds(1000 / rate))
        }
      }
    }
    let trace = try await simulation.run(
      seed: 11,
      faults: .exactly([
        .crash("\(host)-\(leaving)", at: .seconds(change + 5), restartAfter: .seconds(60))
      ]))
    return result(setting, trace)
  }

  private static func result(_ setting: Setting, _ trace: SimulationTrace) -> Result {
    var result = Result(setting: setting, calls: trace.calls.count, failures: trace.calls.compactMap(\.failure))
    for request in trace.requests {
      guard let call = request.call else { continue }
      let instance = trace.calls[call].machine
      if request.time < .seconds(change) {
        result.before[request.server, default: 0] += 1
        result.usedBefore[instance, default: []].insert(request.server)
      } else if request.time > .seconds(change + 1) {
        result.after[request.server, default: 0] += 1
        result.usedAfter[instance, default: []].insert(request.server)
      }
    }
    return result
  }
}

@Suite("Discovery by thirty instances, simulated", .timeLimit(.minutes(30)))
struct DiscoverySimulationTests {
  private static func result(_ setting: PodFleet.Setting) async throws -> PodFleet.Result {
    try #require(try await PodFleet.results.value.first { $0.setting == setting })
  }

  @Test("Without discovery an instance uses one pod and some pods get nothing; with it the load is even")
  func evenness() async throws {
    let none = try await Self.result(.none), all = try await Self.result(.all)
    let subset = try await Self.result(.subset)
    #expect(none.podsPerInstance < 1.5 && none.busiest > 2 && none.idlest == 0, "\(none.figures)")
    #expect(all.podsPerInstance > 18 && all.busiest < 1.4 && all.idlest > 0.6, "\(all.figures)")
    #expect(subset.podsPerInstance == 5 && subset.busiest < 1.5 && subset.idlest > 0.5, "\(subset.figures)")
  }

  @Test("A pod that leaves gets nothing more, no call fails, and each instance exchanges at most two pods")
  func churn() async throws {
    for setting in [PodFleet.Setting.all, .subset] {
      let result = try await Self.result(setting)
      #expect(result.failures.isEmpty && result.calls > 3_000, "\(setting): \(result.failures.prefix(3))")
      #expect(result.after["notes.example-\(PodFleet.leaving)"] == nil && result.after.count == PodFleet.pods - 1)
      let mean = Double(result.after.values.reduce(0, +)) / Double(PodFleet.pods - 1)
      for (pod, count) in result.after { #expect((0.5...1.5).contains(Double(count) / mean), "\(pod): \(count)") }
    }
    let subset = try await Self.result(.subset)
    for (instance, before) in subset.usedBefore {
      let after = subset.usedAfter[instance] ?? []
      #expect(before.subtracting(after).count <= 2 && after.count == PodFleet.size, "\(instance)")
    }
  }
}
