// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// A simulation of services, the servers that they call and the network between them, in one process and in virtual
/// time.
///
/// ```swift
/// let simulation = Simulation { world in
///   try world.server("https://api.example") { request in .text("done") }
///   world.machine("worker", count: 3) { machine in
///     let stack = machine.stack(StackConfiguration(interceptors: [.retry]))
///     _ = try await stack.fetch(.text.get("https://api.example/job"))
///   }
///   world.require(.everyCallEnds(within: .seconds(60)), .recovers(within: .seconds(5)))
/// }
/// try await simulation.run(seeds: 1...1_000, faults: .random())
/// ```
///
/// The code runs unchanged: tasks, actors, the main actor, `Task.sleep`, clocks, `Date()`, `UUID()`, stacks,
/// interceptors, resilience, caches and tokens. Requests go through Lastro's engine over connections in memory. One thread runs
/// everything, one step after the other; a seed decides what runs next, how long the network takes, and which faults
/// occur. The same seed gives the same run.
///
/// Code that waits for threads, queues, timers or executors of its own cannot be simulated: a run in which such a thread
/// resumes a suspended task throws a `ConfigurationError`, and one that waits for something outside fails. Sleeps with a
/// tolerance cannot be simulated either. Hash values are the same in every process that links this module, because the
/// order of a dictionary must not differ between runs.
///
/// Each run takes place on a thread of its own, and the runs of a process one at a time. Cancelling the caller's task
/// ends a series of runs between two of them. Expectations of a test framework are not seen within the simulation: let
/// programs throw errors, and check the ``SimulationTrace`` afterwards.
public struct Simulation: Sendable {
  private let build: @Sendable (SimulatedWorld) throws -> Void
  private let limit: Duration

  /// Creates a simulation. Nothing runs yet.
  ///
  /// - Parameters:
  ///   - limit: the virtual time after which a run ends in any case, and fails. Default 10 minutes. A run without a
  ///     pause in virtual time fails after five million steps.
  ///   - build: sets up the world. It is called for each run, within the simulation, so that runs share no state that
  ///     it makes.
  public init(limit: Duration = .seconds(600), build: @escaping @Sendable (SimulatedWorld) throws -> Void) {
    self.limit = limit
    self.build = build
  }

  /// Runs the simulation once.
  ///
  /// - Parameters:
  ///   - seed: the seed of everything that is random.
  ///   - order: another number for the order of what could run at the same time. Default 0.
  ///   - instances: the maximum number of machines with the same program; servers do not count. Default `nil`: as many
  ///     as `build` asks for.
  ///   - faults: the faults. Default: none.
  /// - Returns: the record of the run.
  /// - Throws: ``SimulationFailure`` if a promise is broken, or a program has not ended within the limit;
  ///   `ConfigurationError` if the code cannot be simulated, or a value cannot work; the error of `build`.
  @discardableResult
  public func run(
    seed: UInt64, order: UInt64 = 0, instances: Int? = nil, faults: FaultPlan = .none
  ) async throws -> SimulationTrace {
    let run = try await record(seed, order, instances, faults)
    if let failure = run.failure { throw failure }
    return run.trace
  }

  /// Runs the simulation once for each seed, until a run fails. A failing run is made smaller: faults and machines are
  /// removed as long as the same promise is broken.
  ///
  /// - Parameters:
  ///   - seeds: the seeds.
  ///   - instances: the maximum number of machines of one name. Default `nil`: as many as `build` asks for.
  ///   - faults: the faults of each run. Default ``FaultPlan/random(upTo:of:within:)``.
  /// - Returns: the number of calls in all runs.
  /// - Throws: ``SimulationFailure`` of the smallest failing run that was found, with the code that repeats it; other
  ///   errors as ``run(seed:order:instances:faults:)``.
  @discardableResult
  public func run(
    seeds: some Sequence<UInt64> & Sendable, instances: Int? = nil, faults: FaultPlan = .random()
  ) async throws -> Int {
    var calls = 0
    for seed in seeds {
      try Task.checkCancellation()
      let run = try await record(seed, 0, instances, faults)
      calls += run.trace.calls.count
      guard let failure = run.failure else { continue }
      var shrinker = FaultShrinker(failure, programs: run.programs) { seed, order, instances, faults in
        try await record(seed, order, instances, .exactly(faults)).failure
      }
      throw try await shrinker.smallest()
    }
    return calls
  }

  /// Held by the thread whose run takes place.
  private static let turn = Lock(())

  private func record(
    _ seed: UInt64, _ order: UInt64, _ instances: Int?, _ faults: FaultPlan
  ) async throws -> SimulationRun {
    if let instances, instances < 1 {
      throw ConfigurationError("instances is \(instances)", hint: "give 1 or more")
    }
    return try await withCheckedThrowingContinuation { continuation in
      // A thread of its own, because that of the caller runs a task.
      let code = DetachedThread.start { [build, limit] in
        continuation.resume(
          with: Result {
            try Self.turn.withLock { _ in
              try SimulationRun(build, seed: seed, order: order, instances: instances, faults: faults, limit: limit)
            }
          })
      }
      if code != 0 {
        continuation.resume(
          throwing: ConfigurationError("the system has no thread for a simulation", hint: "end some threads"))
      }
    }
  }
}
