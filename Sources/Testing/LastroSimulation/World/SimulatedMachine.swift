// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroHTTP
public import LastroTesting

/// A machine of a simulation, for the code that runs on it.
///
/// ```swift
/// world.machine("worker", count: 3) { machine in
///   let stack = machine.stack(StackConfiguration(interceptors: [.retry]))
///   try await Worker(stack: stack).run()
/// }
/// ```
///
/// Its functions are for the machine's own tasks.
public struct SimulatedMachine: @unchecked Sendable {
  // Sendable because all tasks of a simulation run on one thread.
  let core: MachineCore
  let world: WorldCore
  /// The start that the value belongs to.
  private let owner: Scheduler.Owner

  init(_ core: MachineCore, _ world: WorldCore) {
    self.core = core
    self.world = world
    owner = core.owner
  }

  /// The name, such as `worker-2`; without a number if there is one machine of that name.
  public var name: String { core.name }

  /// The number of times that the machine has been started: 1 before its first crash.
  public var starts: Int { core.starts }

  /// The machine's clock. `ContinuousClock`, `SuspendingClock`, `Task.sleep` and `Date()` have the same time, so that
  /// code needs it only where it takes a `TimeSource`.
  public var timeSource: TimeSource {
    let scheduler = world.scheduler, owner = owner
    return TimeSource(
      now: { .nanoseconds(scheduler.now) }, sleep: { try await Task.sleep(for: $0, clock: .continuous) },
      sinceEpoch: { .nanoseconds(scheduler.date(of: owner)) })
  }

  /// The simulation's generator. The system's generator has numbers of the same seed, so that code needs this one only
  /// where it takes a `RandomSource`.
  public var randomSource: RandomSource { world.random }

  /// Returns a stack whose requests go over the simulated network. Each call returns a stack with connections of its
  /// own.
  ///
  /// - Parameters:
  ///   - configuration: the configuration. Its clock and its source of randomness are replaced by the machine's, and
  ///     an observer is added, with whose help the simulation recognizes calls. Default `StackConfiguration()`.
  ///   - connection: the options of connections, of which the version of HTTP and the judge of servers have an effect.
  ///     Default `ConnectionOptions()`.
  public func stack(
    _ configuration: StackConfiguration = StackConfiguration(), connection: ConnectionOptions = ConnectionOptions()
  ) -> TransportNetworkStack {
    var configuration = configuration
    configuration.timeSource = timeSource
    configuration.randomSource = randomSource
    configuration.observers.append(CallObserver(of: core, owner, world))
    return TransportNetworkStack(
      transport: SimulatedTransport(world.openEngine(of: core, connection)), configuration: configuration)
  }

  /// Answers requests to an origin from now on, for as long as the machine runs. Machines that serve the same origin
  /// share its requests: each connection goes to one of them.
  ///
  /// - Parameters:
  ///   - origin: the scheme, host and port, such as `https://api.example`.
  ///   - identity: what the server shows in the handshake of TLS. Default: a valid certificate for any host.
  ///   - http2: whether the server speaks HTTP/2 over TLS. Default true.
  ///   - workers: the number of requests that it answers at once, at least 1. Others wait in the order of their arrival,
  ///     even if their clients have given up. Default `nil`: no limit.
  ///   - answer: returns the response to a request. If it throws an error, the response is 500. Each request has a task
  ///     of its own.
  /// - Throws: `ConfigurationError` for text that is not an origin, and for less than one worker.
  public func serve(
    _ origin: String, identity: SimulatedIdentity? = nil, http2: Bool = true, workers: Int? = nil,
    answer: @escaping @Sendable (LoopbackRequest) async throws -> LoopbackResponse
  ) throws(ConfigurationError) {
    let origin = try Origin(origin)
    try ConfigurationError.check(workers: workers)
    world.serve(origin, on: core, identity: identity, http2: http2, workers: workers, answer)
  }

  /// Adds a line to the trace of the simulation.
  public func log(_ line: String) { world.log("\(name): \(line)") }
}
