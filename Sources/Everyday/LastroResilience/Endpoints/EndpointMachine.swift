// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro

/// The choice among several endpoints, which may come and go, and their ejection, as a pure state machine.
struct EndpointMachine: Sendable {
  struct Member: Sendable {
    /// The identifier, which is never used again.
    let id: Int
    var endpoint: Endpoint
    var inUse = 0
    /// The recent latency in seconds; 0 before the first sample.
    var latency = 0.0
    var measuredAt = Duration.zero
    var isMeasured = false
    var failuresInRow = 0
    /// The number of ejections, reduced by one with each sweep.
    var ejections = 0
    var ejectedUntil: Duration?
    /// The time from which the weight ramps up: that of its arrival, or the end of the last ejection.
    var rampsFrom: Duration?
    /// Whether the member was removed. It is kept until its last attempt has ended.
    var isDraining = false
    /// The current value of smooth weighted round robin.
    var turn = 0.0

    func isHealthy(_ now: Duration) -> Bool { ejectedUntil.map { now >= $0 } ?? true }
  }

  static let sweepInterval = Duration.seconds(10)
  static let longestEjection = Duration.seconds(300)
  private static let rampUp = 10.0
  /// The time in seconds after which an old latency has lost two thirds of its weight.
  private static let memory = 10.0
  /// The ratio of two latencies up to which load alone decides. Otherwise noise would send most attempts to the member
  /// that was luckier.
  private static let toleratedRatio = 2.0

  let policy: BalancingPolicy
  let outliers: OutlierPolicy
  /// The members, with those that drain.
  private(set) var members: [Member]
  private var nextID: Int
  /// The greatest weight of a member.
  private var heaviest: Int
  private var lastSweep: Duration?

  init(_ endpoints: [Endpoint], policy: BalancingPolicy, outliers: OutlierPolicy) {
    self.policy = policy
    self.outliers = outliers
    members = endpoints.enumerated().map { Member(id: $0, endpoint: $1) }
    nextID = endpoints.count
    heaviest = endpoints.map(\.weight).max() ?? 1
  }

  /// Replaces the members. Members of both lists keep their state, and their places in the order of the set. New members
  /// start with a tenth of their weight, unless the set was empty. Members that are not in the list get no attempts any
  /// more, and are dropped when their last one has ended. An empty list changes nothing.
  ///
  /// - Parameter endpoints: the members. Of several with the same origin and address, the first counts.
  mutating func replace(_ endpoints: [Endpoint], now: Duration) {
    guard !endpoints.isEmpty else { return }
    sweep(now)
    let isFirst = members.isEmpty
    var wanted: [Endpoint.Identity: Endpoint] = [:]
    var fresh: [Endpoint] = []
    for endpoint in endpoints where wanted[endpoint.identity] == nil {
      wanted[endpoint.identity] = endpoint
      fresh.append(endpoint)
    }
    for index in members.indices {
      guard let endpoint = wanted.removeValue(forKey: members[index].endpoint.identity) else {
        members[index].isDraining = true
        continue
      }
      members[index].isDraining = false
      members[index].endpoint = endpoint
    }
    members.removeAll { $0.isDraining && $0.inUse == 0 }
    for endpoint in fresh where wanted[endpoint.identity] != nil {
      members.append(Member(id: nextID, endpoint: endpoint, rampsFrom: isFirst ? nil : now))
      nextID += 1
    }
    heaviest = fresh.map(\.weight).max() ?? 1
  }

  private func index(of id: Int) -> Int? {
    // Identifiers grow with their places.
    var low = 0, high = members.count
    while low < high {
      let middle = (low + high) / 2
      if members[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return low < members.count && members[low].id == id ? low : nil
  }

  /// Chooses a member. There must be one that does not drain.
  ///
  /// - Parameters:
  ///   - tried: identifiers of members to avoid if others are available.
  ///   - random: numbers from 0 up to 1.
  mutating func choose(avoiding tried: Set<Int>, now: Duration, random: () -> Double) -> EndpointChoice {
    sweep(now)
    let candidates = candidates(avoiding: tried, now)
    let (chosen, reason) =
      switch policy {
      case .leastLoaded: leastLoaded(candidates, now, random)
      case .roundRobin: inTurn(candidates, now)
      }
    members[chosen].inUse += 1
    return EndpointChoice(
      id: members[chosen].id, endpoint: members[chosen].endpoint, reason: reason, candidates: candidates.count,
      members: members.count { !$0.isDraining })
  }

  /// Returns the places of the healthy, untried members of the first tier that has any. If there are none, it considers
  /// the untried members instead, and finally the healthy ones.
  private func candidates(avoiding tried: Set<Int>, _ now: Duration) -> [Int] {
    let all = members.indices.filter { !members[$0].isDraining }
    var healthy = all.filter { members[$0].isHealthy(now) }
    // If most members of every tier are ejected, the fault is probably not theirs.
    if healthy.count < all.count, !hasSoundTier(now) { healthy = all }
    if tried.isEmpty, !healthy.isEmpty { return firstTier(of: healthy) }
    let fresh = healthy.filter { !tried.contains(members[$0].id) }
    let untried = all.filter { !tried.contains(members[$0].id) }
    return firstTier(of: !fresh.isEmpty ? fresh : !untried.isEmpty ? untried : healthy)
  }

  private func firstTier(of places: [Int]) -> [Int] {
    let tier = places.reduce(Int.max) { min($0, members[$1].endpoint.tier) }
    return places.filter { members[$0].endpoint.tier == tier }
  }

  /// Whether at least half of some tier is healthy.
  private func hasSoundTier(_ now: Duration) -> Bool {
    var tiers: [Int: (healthy: Int, all: Int)] = [:]
    for member in members where !member.isDraining {
      tiers[member.endpoint.tier, default: (0, 0)].all += 1
      if member.isHealthy(now) { tiers[member.endpoint.tier]?.healthy += 1 }
    }
    return tiers.values.contains { 2 * $0.healthy >= $0.all }
  }

  /// Returns the weight of a member, at most 1. It ramps up from a tenth of its full value within 10 s after the member's
  /// arrival or ejection.
  private func weight(_ index: Int, _ now: Duration) -> Double {
    let full = Double(members[index].endpoint.weight) / Double(heaviest)
    guard let start = members[index].rampsFrom else { return full }
    return full * min(1, max(0.1, (now - start).inSeconds / Self.rampUp))
  }

  private func leastLoaded(
    _ candidates: [Int], _ now: Duration, _ random: () -> Double
  ) -> (Int, EndpointChoice.Reason) {
    let first = byWeight(candidates, now, random())
    let others = candidates.filter { $0 != first }
    guard !others.isEmpty else { return (first, .only) }
    let second = byWeight(others, now, random())
    let typical = typicalLatency(candidates, now)
    let latencies = (latency(first, now, typical), latency(second, now, typical))
    let tolerated = Self.toleratedRatio * min(latencies.0, latencies.1)
    return load(second, now) * max(latencies.1, tolerated) < load(first, now) * max(latencies.0, tolerated)
      ? (second, .lessLoaded(than: members[first].endpoint)) : (first, .lessLoaded(than: members[second].endpoint))
  }

  /// Returns the mean latency of the members that have been measured; 1 if there is none.
  private func typicalLatency(_ candidates: [Int], _ now: Duration) -> Double {
    let known = candidates.filter { members[$0].isMeasured }
    guard known.count < candidates.count, !known.isEmpty else { return 1 }
    return known.reduce(0) { $0 + members[$1].latency * decay(members[$1], now) } / Double(known.count)
  }

  /// Returns the attempts in flight by weight, and one more. Two idle members have the same load whatever their weights,
  /// by which they are drawn.
  private func load(_ index: Int, _ now: Duration) -> Double { Double(members[index].inUse) / weight(index, now) + 1 }

  /// Returns the recent latency. A member that was never measured is as fast as the others on average: if it were the
  /// fastest, a new member would get most attempts.
  private func latency(_ index: Int, _ now: Duration, _ typical: Double) -> Double {
    members[index].isMeasured ? members[index].latency * decay(members[index], now) : typical
  }

  private func decay(_ member: Member, _ now: Duration) -> Double {
    exp(-max(0, (now - member.measuredAt).inSeconds) / Self.memory)
  }

  private func byWeight(_ candidates: [Int], _ now: Duration, _ unit: Double) -> Int {
    var rest = unit * candidates.reduce(0) { $0 + weight($1, now) }
    for index in candidates {
      rest -= weight(index, now)
      if rest < 0 { return index }
    }
    return candidates.last ?? 0
  }

  private mutating func inTurn(_ candidates: [Int], _ now: Duration) -> (Int, EndpointChoice.Reason) {
    var sum = 0.0
    for index in candidates {
      members[index].turn += weight(index, now)
      sum += weight(index, now)
    }
    let chosen = candidates.max { members[$0].turn < members[$1].turn } ?? 0
    members[chosen].turn -= sum
    return (chosen, candidates.count > 1 ? .turn : .only)
  }

  /// Records the end of an attempt with a member.
  mutating func end(_ id: Int, _ verdict: AttemptVerdict, latency: Duration, now: Duration) {
    guard let index = index(of: id), members[index].inUse > 0 else { return }
    members[index].inUse -= 1
    if members[index].isDraining {
      if members[index].inUse == 0 { members.remove(at: index) }
      return
    }
    switch verdict {
    case .ignored: return
    case .success:
      members[index].failuresInRow = 0
      measure(index, latency.inSeconds, now)
    case .failure:
      members[index].failuresInRow += 1
      if members[index].failuresInRow >= outliers.consecutiveFailures { eject(index, now) }
    }
  }

  /// Records a latency. A slower sample takes effect at once and a faster one gradually, so that slowdowns are noticed
  /// early.
  private mutating func measure(_ index: Int, _ seconds: Double, _ now: Duration) {
    let old = members[index].latency * decay(members[index], now)
    let share = decay(members[index], now)
    members[index].latency = seconds > old ? seconds : members[index].latency * share + seconds * (1 - share)
    members[index].measuredAt = now
    members[index].isMeasured = true
  }

  private mutating func eject(_ index: Int, _ now: Duration) {
    guard members[index].isHealthy(now) else { return }
    let present = members.filter { !$0.isDraining }
    let ejected = present.count { !$0.isHealthy(now) }
    // If another tier has a healthy member, every member of this one may be ejected.
    let tier = members[index].endpoint.tier
    let hasOther = present.contains { $0.endpoint.tier != tier && $0.isHealthy(now) }
    guard hasOther || ejected == 0 || Double(ejected + 1) <= outliers.maximumShare * Double(present.count) else {
      return
    }
    members[index].ejections += 1
    members[index].failuresInRow = 0
    let length = min(outliers.ejection * members[index].ejections, Self.longestEjection)
    members[index].ejectedUntil = now + length
  }

  private mutating func sweep(_ now: Duration) {
    let last = lastSweep ?? now
    let sweeps = Int((now - last) / Self.sweepInterval)
    lastSweep = last + Self.sweepInterval * sweeps
    for index in members.indices {
      if let until = members[index].ejectedUntil {
        guard now >= until else { continue }
        members[index].ejectedUntil = nil
        members[index].rampsFrom = now
      } else {
        members[index].ejections = max(0, members[index].ejections - sweeps)
      }
    }
  }
}
