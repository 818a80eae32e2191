// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The faults of a simulation's runs.
public struct FaultPlan: Sendable, Hashable {
  /// A kind of fault that a plan draws.
  public enum Kind: Sendable, Hashable, CaseIterable {
    /// Two machines are separated.
    case partition
    /// A machine crashes, and is started again.
    case crash
    /// A machine stops for a while.
    case pause
    /// The date of a machine changes.
    case clockStep
    /// Connections are reset.
    case resetConnections
    /// A host cannot be found for a while.
    case lostName
    /// The network between two machines is slow and loses packets for a while.
    case slowLink
  }

  enum Source: Sendable, Hashable {
    case given([SimulatedFault])
    case drawn(most: Int, kinds: [Kind], within: Duration)
  }

  let source: Source

  /// A plan without faults.
  public static let none = Self(source: .given([]))

  /// Returns a plan with the same faults in every run. They must name machines of the simulation.
  public static func exactly(_ faults: [SimulatedFault]) -> Self { Self(source: .given(faults)) }

  /// Returns a plan whose faults each run draws with its seed. Each fault lasts up to ten seconds. Dates change by up to
  /// an hour and stay changed; slow networks have up to 2 s of delay and 49 % of loss. A simulation with a single machine
  /// has no such faults.
  ///
  /// - Parameters:
  ///   - most: the maximum number of faults, up to 10,000. Default 4.
  ///   - kinds: the kinds to draw from. Default: all.
  ///   - duration: the part of the run, from its start, in which faults begin. Default 30 s.
  public static func random(
    upTo most: Int = 4, of kinds: [Kind] = Kind.allCases, within duration: Duration = .seconds(30)
  ) -> Self {
    Self(source: .drawn(most: min(max(0, most), 10_000), kinds: kinds, within: duration))
  }

  /// Returns the faults of a run.
  ///
  /// - Parameters:
  ///   - machines: the names of the machines.
  ///   - hosts: the hosts that machines serve at the start.
  func faults(seed: UInt64, machines: [String], hosts: [String]) -> [SimulatedFault] {
    guard case .drawn(let most, let kinds, let duration) = source else {
      if case .given(let faults) = source { return faults }
      return []
    }
    let random = RandomSource.seeded(seed &+ 3)
    guard most > 0, !kinds.isEmpty, machines.count > 1 else { return [] }
    let count = random.number(below: most + 1)
    return (0..<count).map { _ in
      let start = Duration.milliseconds(random.number(below: max(1, Int(duration.inNanoseconds / 1_000_000))))
      let length = Duration.milliseconds(1 + random.number(below: 10_000))
      let first = random.number(below: machines.count)
      let second = (first + 1 + random.number(below: machines.count - 1)) % machines.count
      let (a, b) = (machines[first], machines[second])
      switch kinds[random.number(below: kinds.count)] {
      case .partition: return .partition(a, b, at: start, for: length)
      case .crash: return .crash(a, at: start, restartAfter: length)
      case .pause: return .pause(a, at: start, for: length)
      case .clockStep:
        return .clockStep(a, at: start, by: .milliseconds(random.number(below: 7_200_000) - 3_600_000))
      case .resetConnections: return .resetConnections(a, b, at: start)
      case .lostName:
        guard !hosts.isEmpty else { return .partition(a, b, at: start, for: length) }
        return .lostName(hosts[random.number(below: hosts.count)], at: start, for: length)
      case .slowLink:
        let conditions = LinkConditions(
          delay: .milliseconds(random.number(below: 2_000)), loss: Double(random.number(below: 50)) / 100)
        return .slowLink(a, b, conditions, at: start, for: length)
      }
    }
  }
}
