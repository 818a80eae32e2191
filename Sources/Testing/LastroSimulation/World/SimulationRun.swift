// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A run of a simulation: its record, and the promise that it broke.
struct SimulationRun {
  let trace: SimulationTrace
  /// The numbers of machines that run a program, by the names without a number.
  let programs: [String: Int]
  /// The broken promise; `nil` if the run kept all.
  let failure: SimulationFailure?

  /// Runs a simulation on the calling thread, which runs no task.
  init(
    _ build: (SimulatedWorld) throws -> Void, seed: UInt64, order: UInt64, instances: Int?, faults plan: FaultPlan,
    limit: Duration
  ) throws {
    let core = WorldCore(seed: seed, order: order, instances: instances)
    let end = Scheduler.start + max(0, limit.inNanoseconds)
    var faults: [SimulatedFault] = [], running: [String] = []
    var problem: (any Error)?
    let outcome: Scheduler.Outcome
    do throws(SimulationRefusal) {
      (outcome, trace) = try core.scheduler.run(
        seed: seed, until: end,
        prepare: {
          // The world is built in its own time, and with its own random numbers.
          do { faults = try Self.prepare(core, build, plan) } catch { problem = error }
        },
        isOver: { problem != nil || core.isOver },
        finish: { outcome in
          running = core.running
          if outcome != .ended { core.scheduler.buryTasks() }
          return (outcome, core.finish())
        })
    } catch {
      throw error.error
    }
    if let problem { throw problem }
    programs = core.programs
    failure = Self.brokenPromise(core.properties, outcome, trace, running, limit).map { [trace] name, violation in
      SimulationFailure(
        property: name, violation: violation, seed: seed, order: order, instances: instances, faults: faults,
        trace: trace)
    }
  }

  /// Builds the world, starts its machines, and schedules the faults, which it returns.
  private static func prepare(
    _ core: WorldCore, _ build: (SimulatedWorld) throws -> Void, _ plan: FaultPlan
  ) throws -> [SimulatedFault] {
    try build(SimulatedWorld(core))
    if let problem = core.problem { throw problem }
    guard core.machines.contains(where: \.isAwaited) else {
      throw ConfigurationError(
        "the simulation has no machine that runs a program", hint: "add a machine with a program to the world")
    }
    try core.network.check()
    let faults = plan.faults(seed: core.seed, machines: core.machines.map(\.name), hosts: core.hosts)
    for fault in faults {
      try fault.check()
      guard let name = fault.machines.first(where: { !core.names.contains($0) }) else { continue }
      throw ConfigurationError(
        "a fault names the machine \(name), which the simulation does not have",
        hint: "use one of \(core.names.sorted().joined(separator: ", "))")
    }
    for machine in core.machines { core.start(machine) }
    for fault in faults { core.schedule(fault) }
    return faults
  }

  private static func brokenPromise(
    _ properties: [SimulationProperty], _ outcome: Scheduler.Outcome, _ trace: SimulationTrace, _ running: [String],
    _ limit: Duration
  ) -> (name: String, violation: String)? {
    for property in properties {
      if let violation = property.check(trace) { return (property.name, violation) }
    }
    let names = running.joined(separator: ", ")
    switch outcome {
    case .ended: return nil
    case .stalled:
      return (
        "everyProgramEnds",
        "\(names) waits for something that never happens, or happens outside of the simulation, such as in a thread"
      )
    case .busy: return ("everyProgramEnds", "tasks run without end while no time passes, and \(names) did not end")
    case .outOfTime: return ("everyProgramEnds", "\(names) did not end within \(limit)")
    }
  }
}
