// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting
import Testing

@testable import LastroResilience

@Suite("Endpoint selection state machine", .timeLimit(.minutes(15)))
struct EndpointMachineTests {
  private static func machine(
    _ tiers: [Int], policy: BalancingPolicy = .roundRobin
  ) throws -> EndpointMachine {
    let endpoints = try tiers.indices.map { try Endpoint("https://api\($0).example.org", tier: tiers[$0]) }
    return EndpointMachine(endpoints, policy: policy, outliers: .standard)
  }

  private static func choices(_ machine: inout EndpointMachine, _ count: Int, now: Duration = .zero) -> [Int] {
    (0..<count).map { _ in
      let chosen = machine.choose(avoiding: [], now: now) { 0.5 }.id
      machine.end(chosen, .ignored, latency: .zero, now: now)
      return chosen
    }
  }

  private static func fail(_ machine: inout EndpointMachine, _ index: Int, times: Int = 5, now: Duration = .zero) {
    let others = Set(machine.members.indices).subtracting([index])
    for _ in 0..<times {
      let chosen = machine.choose(avoiding: others, now: now) { 0 }.id
      machine.end(chosen, .failure, latency: .zero, now: now)
    }
  }

  @Test("Endpoints rotate, and the next tier is used only if none of the first is healthy")
  func turns() throws {
    var two = try Self.machine([0, 0])
    #expect(Self.choices(&two, 4) == [0, 1, 0, 1])
    var tiers = try Self.machine([0, 1])
    #expect(Self.choices(&tiers, 3) == [0, 0, 0])
    Self.fail(&tiers, 0)
    #expect(Self.choices(&tiers, 3) == [1, 1, 1])
    #expect(Self.choices(&tiers, 2, now: .seconds(31)) == [0, 0])
  }

  @Test(
    "Five consecutive failures eject an endpoint, longer each time; a success resets the count; never all are ejected")
  func ejection() throws {
    var machine = try Self.machine([0, 0, 0])
    Self.fail(&machine, 0, times: 4)
    let chosen = machine.choose(avoiding: [1, 2], now: .zero) { 0 }.id
    machine.end(chosen, .success, latency: .zero, now: .zero)
    Self.fail(&machine, 0, times: 4)
    #expect(machine.members[0].isHealthy(.zero))
    Self.fail(&machine, 0, times: 1)
    #expect(machine.members[0].ejectedUntil == .seconds(30))
    // Half of three is one, so the next member is not ejected.
    Self.fail(&machine, 1)
    #expect(machine.members[1].isHealthy(.zero))
    Self.fail(&machine, 0, now: .seconds(30))
    #expect(machine.members[0].ejectedUntil == .seconds(30 + 60))
  }

  @Test("If most endpoints are ejected, health is ignored")
  func panic() throws {
    let outliers = OutlierPolicy(consecutiveFailures: 1, maximumShare: 1)
    var machine = EndpointMachine(
      try (0..<3).map { try Endpoint("https://api\($0).example.org") }, policy: .roundRobin, outliers: outliers)
    Self.fail(&machine, 0, times: 1)
    #expect(Set(Self.choices(&machine, 6)) == [1, 2])
    Self.fail(&machine, 1, times: 1)
    #expect(Set(Self.choices(&machine, 6)) == [0, 1, 2])
  }

  @Test("A smaller tier takes over when all of a larger one are unhealthy, and is never ejected with it")
  func smallerTier() throws {
    var machine = try Self.machine([0, 0, 1])
    Self.fail(&machine, 0)
    #expect(Set(Self.choices(&machine, 4)) == [1])
    Self.fail(&machine, 1)
    #expect(Set(Self.choices(&machine, 4)) == [2])
    Self.fail(&machine, 2)
    #expect(machine.members[2].isHealthy(.zero))
    #expect(Set(Self.choices(&machine, 4, now: .seconds(31))) == [0, 1])
  }

  @Test("The less loaded of two is chosen by running requests and latency, which rises at once")
  func leastLoaded() throws {
    var machine = try Self.machine([0, 0], policy: .leastLoaded)
    for index in 0..<2 {
      _ = machine.choose(avoiding: [1 - index], now: .zero) { 0 }
      machine.end(index, .success, latency: .milliseconds(10), now: .zero)
    }
    let first = machine.choose(avoiding: [], now: .zero) { 0 }.id
    let second = machine.choose(avoiding: [], now: .zero) { 0 }.id
    #expect(first != second)
    machine.end(first, .success, latency: .seconds(1), now: .zero)
    machine.end(second, .success, latency: .milliseconds(10), now: .zero)
    for unit in [0.0, 0.9] {
      let chosen = machine.choose(avoiding: [], now: .zero) { unit }.id
      #expect(chosen == second)
      machine.end(chosen, .ignored, latency: .zero, now: .zero)
    }
  }
}

@Suite("Endpoint set", .timeLimit(.minutes(15)))
struct EndpointSetTests {
  @Test("A backup is used only while no other server is healthy")
  func backups() throws {
    let clock = ManualClock()
    let set = try EndpointSet(
      ["https://a.example.org"], backups: ["https://b.example.org"], time: clock.timeSource, random: .seeded(1))
    for _ in 0..<5 {
      let lease = set.lease()
      #expect(lease.origin.host == "a.example.org")
      lease.end(.failure, latency: .zero)
    }
    #expect(set.lease().origin.host == "b.example.org")
    clock.advance(by: .seconds(300))
    #expect(set.lease().origin.host == "a.example.org")
  }

  @Test("A dropped lease is returned, failures eject, and tried endpoints are avoided")
  func leases() throws {
    let clock = ManualClock()
    let endpoints = try ["https://a.example.org", "https://b.example.org"].map { try Endpoint($0) }
    let set = try EndpointSet(endpoints, time: clock.timeSource, random: .seeded(1))
    do {
      let lease = set.lease(avoiding: [endpoints[0].origin])
      #expect(lease.origin.host == "b.example.org")
      #expect(set.health().map(\.inUse) == [0, 1])
      _ = consume lease
    }
    #expect(set.health().map(\.inUse) == [0, 0])
    for _ in 0..<5 { set.lease(avoiding: [endpoints[0].origin]).end(.failure, latency: .zero) }
    #expect(set.health().map(\.isEjected) == [false, true])
    #expect(set.lease(avoiding: []).endpoint == endpoints[0])
  }

  @Test("A set runs a fetch with a server, returns its value, and ejects a server whose fetches fail")
  func fetches() async throws {
    let clock = ManualClock()
    let set = try EndpointSet(
      ["https://a.example.org"], backups: ["https://b.example.org"], time: clock.timeSource, random: .seeded(1))
    let host = await set.withEndpoint { origin in
      #expect(set.health().map(\.inUse) == [1, 0])
      return origin.host
    }
    #expect(host == "a.example.org")
    #expect(set.health().map(\.inUse) == [0, 0])
    let failures: [(any Error, isBlamed: Bool)] = [
      (HTTPFetchError<TextAPIError>(.http(.notFound, nil)), false), (HTTPFetchError<TextAPIError>(.cancelled), false),
      (CancellationError(), false), (HTTPFetchError<TextAPIError>(.http(.serviceUnavailable, nil)), true),
    ]
    for (failure, isBlamed) in failures {
      for _ in 0..<5 {
        await #expect(throws: (any Error).self) {
          try await set.withEndpoint { (_: Origin) async throws -> Void in throw failure }
        }
      }
      #expect(set.health().map(\.isEjected) == [isBlamed, false], "\(failure)")
    }
    #expect(set.health().map(\.inUse) == [0, 0])
    let other = try Origin("https://b.example.org")
    #expect(await set.withEndpoint(avoiding: [other]) { $0.host } == "a.example.org")
  }
}
