// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro

/// The choice among several endpoints, and their ejection, as a pure state machine.
struct EndpointMachine: Sendable {
  struct Member: Sendable {
    let endpoint: Endpoint
    var inUse = 0
    /// The recent latency in seconds; 0 before the first sample.
    var latency = 0.0
    var measuredAt = Duration.zero
    var failuresInRow = 0
    /// The number of ejections, reduced by one with each sweep.
    var ejections = 0
    var ejectedUntil: Duration?
    /// The end of the last ejection, after which the weight ramps up.
    var recoveredAt: Duration?
    /// The current value of smooth weighted round robin.
    var turn = 0.0

    func isHealthy(_ now: Duration) -> Bool { ejectedUntil.map { now >= $0 } ?? true }
  }

  static let sweepInterval = Duration.seconds(10)
  static let longestEjection = Duration.seconds(300)
  private static let rampUp = 10.0
  /// The time in seconds after which an old latency has lost two thirds of its weight.
  private static let memory = 10.0

  let policy: BalancingPolicy
  let outliers: OutlierPolicy
  private(set) var members: [Member]
  private var lastSweep: Duration?

  init(_ endpoints: [Endpoint], policy: BalancingPolicy, outliers: OutlierPolicy) {
    self.policy = policy
    self.outliers = outliers
    members = endpoints.map { Member(endpoint: $0) }
  }

  /// Chooses a member.
  ///
  /// - Parameters:
  ///   - tried: members to avoid if others are available.
  ///   - random: numbers from 0 up to 1.
  mutating func choose(avoiding tried: Set<Int>, now: Duration, random: () -> Double) -> Int {
    sweep(now)
    let candidates = candidates(avoiding: tried, now)
    let chosen =
      switch policy {
      case .leastLoaded: leastLoaded(candidates, now, random)
      case .roundRobin: inTurn(candidates, now)
      }
    members[chosen].inUse += 1
    return chosen
  }

  /// Returns the healthy, untried members of the first tier that has any. If there are none, it considers the untried
  /// members instead, and finally the healthy ones.
  private func candidates(avoiding tried: Set<Int>, _ now: Duration) -> [Int] {
    let all = Array(members.indices)
    var healthy = all.filter { members[$0].isHealthy(now) }
    // If most members of every tier are ejected, the fault is probably not theirs.
    if !hasSoundTier(now) { healthy = all }
    let fresh = healthy.filter { !tried.contains($0) }
    let untried = all.filter { !tried.contains($0) }
    let usable = !fresh.isEmpty ? fresh : !untried.isEmpty ? untried : healthy
    let tier = usable.map { members[$0].endpoint.tier }.min() ?? 0
    return usable.filter { members[$0].endpoint.tier == tier }
  }

  /// Whether at least half of some tier is healthy.
  private func hasSoundTier(_ now: Duration) -> Bool {
    members.contains { member in
      let tier = members.filter { $0.endpoint.tier == member.endpoint.tier }
      return 2 * tier.count { $0.isHealthy(now) } >= tier.count
    }
  }

  /// Returns the weight of a member, which ramps up from a tenth to 1 within 10 s after an ejection.
  private func weight(_ index: Int, _ now: Duration) -> Double {
    guard let recovered = members[index].recoveredAt else { return 1 }
    return min(1, max(0.1, (now - recovered).inSeconds / Self.rampUp))
  }

  private func leastLoaded(_ candidates: [Int], _ now: Duration, _ random: () -> Double) -> Int {
    let first = byWeight(candidates, now, random())
    let others = candidates.filter { $0 != first }
    guard !others.isEmpty else { return first }
    let second = byWeight(others, now, random())
    return cost(second, now) < cost(first, now) ? second : first
  }

  private func cost(_ index: Int, _ now: Duration) -> Double {
    let member = members[index]
    return Double(member.inUse + 1) * member.latency * decay(member, now) / weight(index, now)
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

  private mutating func inTurn(_ candidates: [Int], _ now: Duration) -> Int {
    var sum = 0.0
    for index in candidates {
      members[index].turn += weight(index, now)
      sum += weight(index, now)
    }
    let chosen = candidates.max { members[$0].turn < members[$1].turn } ?? 0
    members[chosen].turn -= sum
    return chosen
  }

  /// Records the end of an attempt with a member.
  mutating func end(_ index: Int, _ verdict: AttemptVerdict, latency: Duration, now: Duration) {
    guard members.indices.contains(index), members[index].inUse > 0 else { return }
    members[index].inUse -= 1
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
  }

  private mutating func eject(_ index: Int, _ now: Duration) {
    guard members[index].isHealthy(now) else { return }
    let ejected = members.count { !$0.isHealthy(now) }
    // If another tier has a healthy member, every member of this one may be ejected.
    let tier = members[index].endpoint.tier
    let hasOther = members.contains { $0.endpoint.tier != tier && $0.isHealthy(now) }
    guard hasOther || ejected == 0 || Double(ejected + 1) <= outliers.maximumShare * Double(members.count) else {
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
        members[index].recoveredAt = now
      } else {
        members[index].ejections = max(0, members[index].ejections - sweeps)
      }
    }
  }
}
