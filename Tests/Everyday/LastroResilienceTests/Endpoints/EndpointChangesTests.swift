// SPDX-License-Identifier: Apache-2.0

import Lastro
import TestSupport
import Testing

@testable import LastroResilience

@Suite("Endpoints that come and go", .ownThread)
struct EndpointChangesTests {
  private static func endpoints(_ numbers: [Int], weight: Int = 1) throws -> [Endpoint] {
    try numbers.map { try Endpoint("https://api\($0).example.org", weight: weight) }
  }

  private static func machine(_ numbers: [Int], _ policy: BalancingPolicy = .roundRobin) throws -> EndpointMachine {
    EndpointMachine(try endpoints(numbers), policy: policy, outliers: .standard)
  }

  /// Returns how often each host is chosen, with requests that end at once.
  private static func shares(
    _ machine: inout EndpointMachine, _ count: Int, now: Duration = .zero, seed: UInt64 = 1
  ) -> [String: Int] {
    let random = RandomSource.seeded(seed)
    var shares: [String: Int] = [:]
    for _ in 0..<count {
      let choice = machine.choose(avoiding: [], now: now) { random.unit() }
      machine.end(choice.id, .ignored, latency: .zero, now: now)
      shares[choice.endpoint.origin.host, default: 0] += 1
    }
    return shares
  }

  @Test(
    "A new member starts with a tenth of its share, and has the whole after 10 s", arguments: BalancingPolicy.allCases)
  func slowStart(_ policy: BalancingPolicy) throws {
    var machine = try Self.machine([1, 2], policy)
    machine.replace(try Self.endpoints([1, 2, 3]), now: .seconds(100))
    let new = "api3.example.org"
    // A tenth beside two whole ones is 1 of 21.
    let start = Self.shares(&machine, 2100, now: .seconds(100))[new] ?? 0
    #expect((60...140).contains(start), "\(start)")
    let half = Self.shares(&machine, 2100, now: .seconds(105))[new] ?? 0
    #expect((320...520).contains(half), "\(half)")
    let whole = Self.shares(&machine, 2100, now: .seconds(111))[new] ?? 0
    #expect((600...800).contains(whole), "\(whole)")
  }

  @Test("The first members of an empty set start at once")
  func firstMembers() throws {
    var machine = EndpointMachine([], policy: .roundRobin, outliers: .standard)
    machine.replace(try Self.endpoints([1, 2]), now: .seconds(5))
    #expect(machine.members.allSatisfy { $0.rampsFrom == nil })
    #expect(Self.shares(&machine, 10, now: .seconds(5)) == ["api1.example.org": 5, "api2.example.org": 5])
  }

  @Test("A removed member gets no requests, keeps those that it has, and is dropped after the last of them")
  func draining() throws {
    var machine = try Self.machine([1, 2])
    let running = machine.choose(avoiding: [1], now: .zero) { 0 }
    let second = machine.choose(avoiding: [1], now: .zero) { 0 }
    #expect(running.id == 0 && second.id == 0)
    machine.replace(try Self.endpoints([2]), now: .zero)
    #expect(machine.members.map(\.isDraining) == [true, false])
    #expect(Self.shares(&machine, 20) == ["api2.example.org": 20])
    machine.end(running.id, .success, latency: .zero, now: .zero)
    #expect(machine.members.map(\.inUse) == [1, 0])
    machine.end(second.id, .failure, latency: .zero, now: .zero)
    #expect(machine.members.map(\.id) == [1])
    // An end that is reported late changes nothing.
    machine.end(second.id, .success, latency: .zero, now: .zero)
    #expect(machine.members.map(\.inUse) == [0])
  }

  @Test("A member that returns while it drains goes on as before, and one that returns later starts slowly")
  func returning() throws {
    var machine = try Self.machine([1, 2])
    _ = machine.choose(avoiding: [1], now: .zero) { 0 }
    machine.replace(try Self.endpoints([2]), now: .zero)
    machine.replace(try Self.endpoints([2, 1]), now: .seconds(1))
    #expect(machine.members.map(\.id) == [0, 1] && machine.members[0].rampsFrom == nil)
    machine.replace(try Self.endpoints([1]), now: .seconds(2))
    machine.replace(try Self.endpoints([1, 2]), now: .seconds(3))
    #expect(machine.members.map(\.id) == [0, 2] && machine.members[1].rampsFrom == .seconds(3))
  }

  @Test("A member that stays keeps its ejection and its latency")
  func keeping() throws {
    var machine = try Self.machine([1, 2, 3])
    for _ in 0..<5 {
      let chosen = machine.choose(avoiding: [1, 2], now: .zero) { 0 }
      machine.end(chosen.id, .failure, latency: .zero, now: .zero)
    }
    machine.replace(try Self.endpoints([3, 1]), now: .zero)
    #expect(machine.members.map(\.ejectedUntil) == [.seconds(30), nil])
  }

  @Test("An empty list changes nothing, and a member that is listed twice counts once")
  func empty() throws {
    var machine = try Self.machine([1, 2])
    machine.replace([], now: .zero)
    #expect(machine.members.map(\.id) == [0, 1])
    machine.replace(try Self.endpoints([1, 1, 2, 3, 3]), now: .zero)
    #expect(machine.members.map(\.id) == [0, 1, 2])
  }

  @Test("Idle members are chosen by weight, busy ones by their load relative to it")
  func weights() throws {
    let heavy = try Self.endpoints([1], weight: 300), light = try Self.endpoints([2], weight: 100)
    var machine = EndpointMachine(heavy + light, policy: .leastLoaded, outliers: .standard)
    let shares = Self.shares(&machine, 4000)
    #expect((2800...3200).contains(shares["api1.example.org"] ?? 0), "\(shares)")
    let random = RandomSource.seeded(1)
    for _ in 0..<400 { _ = machine.choose(avoiding: [], now: .zero) { random.unit() } }
    #expect((290...310).contains(machine.members[0].inUse), "\(machine.members.map(\.inUse))")
  }

  @Test("An unmeasured member is as fast as the average, so that it does not draw a burst of requests")
  func unmeasured() throws {
    var machine = try Self.machine([1, 2], .leastLoaded)
    for id in 0..<2 {
      let choice = machine.choose(avoiding: [1 - id], now: .zero) { 0 }
      machine.end(choice.id, .success, latency: .milliseconds(10), now: .zero)
    }
    machine.replace(try Self.endpoints([1, 2, 3]), now: .zero)
    let random = RandomSource.seeded(1)
    for _ in 0..<100 { _ = machine.choose(avoiding: [], now: .zero) { random.unit() } }
    #expect(machine.members[2].inUse <= 10, "\(machine.members.map(\.inUse))")
  }

  @Test("A choice says why it was made, and among how many")
  func reasons() throws {
    var machine = try Self.machine([1, 2, 3], .leastLoaded)
    let first = machine.choose(avoiding: [], now: .zero) { 0 }
    #expect(
      first.note.text == "member https://api1.example.org (less loaded than https://api2.example.org; 3 of 3 usable)")
    let only = machine.choose(avoiding: [0, 1], now: .zero) { 0 }
    #expect(only.note.text == "member https://api3.example.org (no other is usable; 1 of 3 usable)")
    var turns = try Self.machine([1, 2])
    #expect(turns.choose(avoiding: [], now: .zero) { 0 }.note.text.contains("(its turn; 2 of 2 usable)"))
  }

  @Test("In 10,000 random histories each attempt goes to a present member, and no lease is lost")
  func histories() throws {
    let all = try Self.endpoints(Array(0..<6))
    let seen = try Histories.play { seed, random in
      var present = Set([0, 1, 2])
      var machine = EndpointMachine(
        present.sorted().map { all[$0] }, policy: BalancingPolicy.allCases[seed % 2], outliers: .standard)
      // The leases: the identifier of the member, and its number in `all`.
      var out: [(id: Int, number: Int)] = []
      var steps: [String] = []
      var now = Duration.zero
      for _ in 0..<40 {
        now += .milliseconds(random.roll(2000))
        switch random.roll(5) {
        case 0:
          let list = (0..<6).filter { _ in random.roll(2) == 0 }
          machine.replace(list.map { all[$0] }, now: now)
          if list.isEmpty { steps.append("empty") } else { present = Set(list) }
        case 1, 2:
          let choice = machine.choose(avoiding: [], now: now) { random.unit() }
          let number = all.firstIndex(of: choice.endpoint) ?? -1
          guard present.contains(number) else {
            throw Histories.Difference(seed: seed, what: "\(number), not of \(present)")
          }
          out.append((choice.id, number))
        default:
          guard !out.isEmpty else { continue }
          let ended = out.remove(at: random.roll(out.count))
          machine.end(ended.id, AttemptVerdict.allCases[random.roll(3)], latency: .milliseconds(5), now: now)
        }
        let draining = machine.members.filter(\.isDraining)
        if !draining.isEmpty { steps.append("draining") }
        // The members are those present, and those with leases; their leases are counted.
        let wanted = Set(present.map { all[$0] })
        let used = Dictionary(grouping: out) { $0.id }.mapValues(\.count)
        guard Set(machine.members.filter { !$0.isDraining }.map(\.endpoint)) == wanted,
          machine.members.allSatisfy({ $0.inUse == used[$0.id] ?? 0 }), draining.allSatisfy({ $0.inUse > 0 }),
          Set(used.keys).isSubset(of: machine.members.map(\.id))
        else { throw Histories.Difference(seed: seed, what: "\(machine.members)") }
      }
      return steps
    }
    for step in ["empty", "draining"] { #expect(seen[step, default: 0] > 500, "\(step): \(seen)") }
  }
}

@Suite("Subsets of endpoints", .ownThread)
struct EndpointSubsetTests {
  private static func members(_ count: Int) throws -> [Endpoint] {
    let origin = try Origin("https://notes.example")
    return try (0..<count).map {
      try Endpoint(origin, address: MemberAddress("10.0.\($0 / 250).\($0 % 250 + 1)"))
    }
  }

  private static func picked(_ members: [Endpoint], size: Int, instance: Int) -> Set<Endpoint> {
    Set(EndpointSubset(size: size, instance: instance).picked(from: members))
  }

  /// The smallest and the greatest number of instances that use a member.
  private static func loads(_ members: [Endpoint], size: Int, instances: Int) -> (Int, Int) {
    var loads = Dictionary(uniqueKeysWithValues: members.map { ($0, 0) })
    for instance in 0..<instances {
      for member in picked(members, size: size, instance: instance) { loads[member, default: 0] += 1 }
    }
    return (loads.values.min() ?? 0, loads.values.max() ?? 0)
  }

  @Test("Whatever the order of the list, an instance picks the same members, and all if there are few")
  func determinism() throws {
    let members = try Self.members(40)
    let picked = Self.picked(members, size: 8, instance: 3)
    #expect(picked.count == 8 && picked == Self.picked(members.reversed(), size: 8, instance: 3))
    #expect(Self.picked(members, size: 40, instance: 3).count == 40)
    #expect(Self.picked(members, size: 99, instance: -1).count == 40)
    #expect(Self.picked(members, size: 8, instance: -7).count == 8)
    // The hash does not depend on the process.
    #expect(EndpointSubset.hash("https://notes.example 10.0.0.1") == 437_167_505_300_771_176)
  }

  @Test("With powers of two of instances, the numbers of instances of two members differ by one at most")
  func evenPowers() throws {
    for (count, size, instances) in [(10, 3, 16), (64, 5, 64), (100, 10, 128), (7, 2, 4)] {
      let (least, most) = Self.loads(try Self.members(count), size: size, instances: instances)
      #expect(most - least <= 1, "\(least) to \(most) of \(count), \(size), \(instances)")
    }
  }

  @Test("With any number of instances, a member has at most three instances more or less than the average")
  func even() throws {
    let random = RandomSource.seeded(1)
    var widest = 0.0
    for _ in 0..<100 {
      let count = 2 + random.roll(120), size = 1 + random.roll(count), instances = 1 + random.roll(300)
      let (least, most) = Self.loads(try Self.members(count), size: size, instances: instances)
      let mean = Double(instances * size) / Double(count)
      widest = max(widest, Double(most) - mean, mean - Double(least))
    }
    #expect(widest < 3, "\(widest)")
  }

  @Test("When a member leaves or joins, each instance exchanges two of its members at most")
  func churn() throws {
    let members = try Self.members(50)
    var exchanged = 0
    for gone in members {
      let others = members.filter { $0 != gone }
      for instance in 0..<20 {
        let before = Self.picked(members, size: 10, instance: instance)
        let after = Self.picked(others, size: 10, instance: instance)
        #expect(before.subtracting(after).count <= 2)
        exchanged += before.subtracting(after).count
      }
    }
    // 50 changes of 20 instances with 10 members each.
    #expect(exchanged < 50 * 20 * 10 / 20, "\(exchanged)")
  }

  @Test("Each tier has a subset of its own")
  func tiers() throws {
    let tiers = try (0..<40).map { try Endpoint("https://api\($0).example.org", tier: $0 % 2) }
    let picked = Self.picked(tiers, size: 5, instance: 9)
    #expect(picked.count { $0.tier == 0 } == 5 && picked.count == 10)
  }
}
