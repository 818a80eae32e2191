// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroHTTP
public import LastroTesting

/// The machines, the network and the promises of a simulation, for the closure that sets it up.
public final class SimulatedWorld {
  let core: WorldCore

  init(_ core: WorldCore) { self.core = core }

  /// The seed of the run.
  public var seed: UInt64 { core.seed }

  /// The behavior of the network where ``setConditions(_:between:and:)`` says nothing else. Default: a delay of 1 ms.
  public var conditions: LinkConditions {
    get { core.network.defaultConditions }
    set { core.network.defaultConditions = newValue }
  }

  /// Sets the behavior of the network between two machines.
  public func setConditions(_ conditions: LinkConditions, between a: String, and b: String) {
    core.network.setConditions(conditions, between: a, and: b)
  }

  /// Adds machines that run a program.
  ///
  /// The simulation continues until the programs of all such machines have ended. After a crash, the program runs again,
  /// even if it had ended.
  ///
  /// - Parameters:
  ///   - name: the name. If there are several machines, it is followed by `-1`, `-2` and so on.
  ///   - count: the number of machines, at least 1. Default 1.
  ///   - program: the program. An error that it throws is recorded; see ``SimulationProperty/programsSucceed``.
  public func machine(
    _ name: String, count: Int = 1, program: @escaping @Sendable (SimulatedMachine) async throws -> Void
  ) {
    core.addMachines(name, count: count, isAwaited: true, program)
  }

  /// Adds machines that answer the requests to an origin. They are named after its host: `api.example`, and with the
  /// port if another machine has that name; with several machines, `api.example-1` and so on. The simulation does not
  /// wait for them.
  ///
  /// ```swift
  /// world.server("https://api.example") { request in .json("{}") }
  /// ```
  ///
  /// - Parameters:
  ///   - origin: the scheme, host and port.
  ///   - count: the number of machines, at least 1. Default 1.
  ///   - identity: what the servers show in the handshake of TLS. Default: a valid certificate for any host.
  ///   - http2: whether the servers speak HTTP/2 over TLS. Default true.
  ///   - workers: the number of requests that each machine answers at once, at least 1. Others wait in the order of their
  ///     arrival, even if their clients have given up. Default `nil`: no limit.
  ///   - answer: returns the response to a request. It may suspend, and share objects of its own with other requests.
  ///     If it throws an error, the response is 500.
  /// - Throws: `ConfigurationError` for text that is not an origin, and for less than one worker.
  public func server(
    _ origin: String, count: Int = 1, identity: SimulatedIdentity? = nil, http2: Bool = true,
    workers: Int? = nil, answer: @escaping @Sendable (LoopbackRequest) async throws -> LoopbackResponse
  ) throws(ConfigurationError) {
    let origin = try Origin(origin)
    try ConfigurationError.check(workers: workers)
    core.hosts.append(origin.host)
    let name = core.names.contains(origin.host) ? "\(origin.host):\(origin.port)" : origin.host
    let listen = { [unowned core] machine in
      core.serve(origin, on: machine, identity: identity, http2: http2, workers: workers, answer)
    }
    core.addMachines(name, count: count, isAwaited: false, listen: listen) { _ in }
  }

  /// Adds a machine that is an HTTP proxy, for clients whose `ConnectionOptions.proxy` names it. It forwards requests
  /// for `http`, and opens tunnels (CONNECT) for `https`. It is named after its host, and faults apply to it as to any
  /// machine.
  ///
  /// ```swift
  /// try world.proxy("http://proxy.example:3128")
  /// world.machine("worker") { machine in
  ///   var connection = ConnectionOptions()
  ///   connection.proxy = .url("http://proxy.example:3128")
  ///   let stack = machine.stack(connection: connection)
  /// }
  /// ```
  ///
  /// - Parameter url: the URL as clients name it, of the scheme `http`. If it has user and password, the proxy responds
  ///   with 407 to clients without them.
  /// - Throws: `ConfigurationError` for another URL.
  public func proxy(_ url: String) throws(ConfigurationError) {
    let proxy: SimulatedProxy
    do throws(TransportError) { proxy = try SimulatedProxy(url) } catch {
      throw ConfigurationError(error.message, hint: error.hint)
    }
    let host = proxy.target.host.text
    core.hosts.append(host)
    let name = core.names.contains(host) ? proxy.target.name : host
    core.addMachines(name, count: 1, isAwaited: false, listen: { [unowned core] in core.serve(proxy, on: $0) }) { _ in }
  }

  /// Adds promises that the run must keep.
  public func require(_ properties: SimulationProperty...) { core.properties += properties }
}
