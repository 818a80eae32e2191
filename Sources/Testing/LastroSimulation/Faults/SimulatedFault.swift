// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A fault of a simulation: what happens to machines or the network, when, and for how long.
///
/// ```swift
/// .partition("worker-1", "api", at: .seconds(3), for: .seconds(10))
/// ```
///
/// Faults may overlap: a machine continues when each of its pauses has ended, the latest ``slowLink(_:_:_:at:for:)``
/// applies, and a machine that has crashed does not crash again. Times below zero count as zero.
public struct SimulatedFault: Sendable, Hashable, CustomStringConvertible {
  /// The kind of a fault.
  enum Kind: Sendable, Hashable {
    case partition(String, String)
    case crash(String)
    case pause(String)
    case clockStep(String, by: Duration)
    case resetConnections(String, String)
    case lostName(String)
    case slowLink(String, String, LinkConditions)
  }

  let kind: Kind
  /// The time at which it begins, from the start of the simulation.
  public let start: Duration
  /// The time until its effect ends; zero for an effect that is over at once, or never ends.
  public let duration: Duration

  /// The time at which its effect ends.
  public var end: Duration { start + duration }

  /// Separates two machines. Nothing is lost: what they send arrives after the partition, if they still wait for it.
  public static func partition(_ a: String, _ b: String, at start: Duration, for duration: Duration) -> Self {
    Self(kind: .partition(a, b), start: start, duration: duration)
  }

  /// Ends the program of a machine. Its connections are reset, its tasks never continue, and connections to it are
  /// refused. After a duration the program starts again.
  public static func crash(_ machine: String, at start: Duration, restartAfter duration: Duration) -> Self {
    Self(kind: .crash(machine), start: start, duration: duration)
  }

  /// Stops a machine, as a suspended virtual machine is stopped. Its clocks continue.
  public static func pause(_ machine: String, at start: Duration, for duration: Duration) -> Self {
    Self(kind: .pause(machine), start: start, duration: duration)
  }

  /// Changes the date of a machine. Its monotonic clocks do not change.
  public static func clockStep(_ machine: String, at start: Duration, by step: Duration) -> Self {
    Self(kind: .clockStep(machine, by: step), start: start, duration: .zero)
  }

  /// Resets all connections that a machine has opened to another.
  public static func resetConnections(_ client: String, _ server: String, at start: Duration) -> Self {
    Self(kind: .resetConnections(client, server), start: start, duration: .zero)
  }

  /// Makes the look-ups of a host fail.
  public static func lostName(_ host: String, at start: Duration, for duration: Duration) -> Self {
    Self(kind: .lostName(host), start: start, duration: duration)
  }

  /// Changes the conditions of the network between two machines.
  public static func slowLink(
    _ a: String, _ b: String, _ conditions: LinkConditions, at start: Duration, for duration: Duration
  ) -> Self {
    Self(kind: .slowLink(a, b, conditions), start: start, duration: duration)
  }

  /// The names of the machines that the fault affects.
  var machines: [String] {
    switch kind {
    case .partition(let a, let b), .resetConnections(let a, let b), .slowLink(let a, let b, _): [a, b]
    case .crash(let machine), .pause(let machine), .clockStep(let machine, _): [machine]
    case .lostName: []
    }
  }

  /// Throws an error for conditions that no network has.
  func check() throws(ConfigurationError) {
    if case .slowLink(_, _, let conditions) = kind { try conditions.check() }
  }

  /// Returns the fault with other names of machines.
  func renamed(_ name: (String) -> String) -> Self {
    let kind: Kind =
      switch kind {
      case .partition(let a, let b): .partition(name(a), name(b))
      case .crash(let machine): .crash(name(machine))
      case .pause(let machine): .pause(name(machine))
      case .clockStep(let machine, let step): .clockStep(name(machine), by: step)
      case .resetConnections(let a, let b): .resetConnections(name(a), name(b))
      case .lostName: kind
      case .slowLink(let a, let b, let conditions): .slowLink(name(a), name(b), conditions)
      }
    return Self(kind: kind, start: start, duration: duration)
  }

  /// The fault as Swift code.
  public var description: String {
    let time = "at: \(start.inCode)", length = "for: \(duration.inCode)"
    return switch kind {
    case .partition(let a, let b): ".partition(\(a.inCode), \(b.inCode), \(time), \(length))"
    case .crash(let machine): ".crash(\(machine.inCode), \(time), restartAfter: \(duration.inCode))"
    case .pause(let machine): ".pause(\(machine.inCode), \(time), \(length))"
    case .clockStep(let machine, let step): ".clockStep(\(machine.inCode), \(time), by: \(step.inCode))"
    case .resetConnections(let client, let server): ".resetConnections(\(client.inCode), \(server.inCode), \(time))"
    case .lostName(let host): ".lostName(\(host.inCode), \(time), \(length))"
    case .slowLink(let a, let b, let link): ".slowLink(\(a.inCode), \(b.inCode), \(link.inCode), \(time), \(length))"
    }
  }
}

extension Duration {
  /// The duration as Swift code, in the largest unit that it is a whole number of.
  var inCode: String {
    let nanoseconds = inNanoseconds
    if nanoseconds % 1_000_000_000 == 0 { return ".seconds(\(nanoseconds / 1_000_000_000))" }
    if nanoseconds % 1_000_000 == 0 { return ".milliseconds(\(nanoseconds / 1_000_000))" }
    return ".nanoseconds(\(nanoseconds))"
  }
}

extension String {
  /// The text as a literal of Swift.
  fileprivate var inCode: String { String(reflecting: self) }
}

extension LinkConditions {
  /// The conditions as Swift code.
  fileprivate var inCode: String {
    let rate = bytesPerSecond.map { ", bytesPerSecond: \($0)" } ?? ""
    return "LinkConditions(delay: \(delay.inCode), jitter: \(jitter.inCode), loss: \(loss)\(rate))"
  }
}

extension WorldCore {
  /// Schedules a fault, and the end of its effect.
  func schedule(_ fault: SimulatedFault) {
    let begin = Scheduler.start + max(0, fault.start.inNanoseconds)
    let end = begin + max(0, fault.duration.inNanoseconds)
    scheduler.perform(for: Scheduler.world, at: begin) { [self] in
      record(fault)
      log("fault: \(fault)")
      let undo = start(fault)
      if let undo { scheduler.perform(for: Scheduler.world, at: end, undo) }
    }
  }

  /// Starts a fault. Returns what ends its effect; `nil` if nothing does.
  private func start(_ fault: SimulatedFault) -> (() -> Void)? {
    switch fault.kind {
    case .partition(let a, let b):
      network.cut(a, b)
      return { [self] in network.join(a, b) }
    case .crash(let name):
      guard let machine = machine(named: name) else { return nil }
      return crash(machine) ? { [self] in restart(machine) } : nil
    case .pause(let name):
      guard let machine = machine(named: name) else { return nil }
      let owner = machine.owner
      scheduler.setPaused(true, owner)
      return { [self] in scheduler.setPaused(false, owner) }
    case .clockStep(let name, let step):
      guard let machine = machine(named: name) else { return nil }
      let longest = Int64.max / 4
      machine.dateOffset = max(-longest, min(longest, machine.dateOffset + step.inNanoseconds))
      scheduler.setDateOffset(machine.dateOffset, of: machine.owner)
      return nil
    case .resetConnections(let client, let server):
      if let client = machine(named: client) { machine(named: server)?.resetAccepted(from: client) }
      return nil
    case .lostName(let host):
      network.loseName(host)
      return { [self] in network.findName(host) }
    case .slowLink(let a, let b, let conditions):
      return network.impose(conditions, between: a, and: b)
    }
  }
}
