// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroHTTP
internal import LastroTesting

/// The state of one run of a simulation: its machines, its network and what has been recorded.
final class WorldCore: @unchecked Sendable {
  // Sendable because everything is used on the simulation's thread alone.

  let scheduler: Scheduler
  let network: SimulatedNetwork
  let seed: UInt64
  /// The maximum number of machines of one name; `nil` for those that the simulation asks for.
  private let instances: Int?
  private(set) var machines: [MachineCore] = []
  private(set) var trace = SimulationTrace()
  var properties: [SimulationProperty] = []
  /// The hosts of servers, in the order in which they were added.
  var hosts: [String] = []
  /// The names of all machines, including those beyond the maximum number.
  private(set) var names: Set<String> = []
  private var baseNames: Set<String> = []
  /// The reason why the world cannot run.
  private(set) var problem: ConfigurationError?
  /// The source of randomness of all machines.
  let random: RandomSource
  private var connections = 0
  /// Whether the run has ended. What a task records afterwards is dropped.
  private var hasEnded = false
  /// The event loops of all starts, which the far ends of their connections refer to.
  private var loops: [MachineLoop] = []
  /// The workers of all servers, whose queues refer to connections that refer to them.
  private var queues: [ServerWorkers] = []

  init(seed: UInt64, order: UInt64, instances: Int?) {
    self.seed = seed
    self.instances = instances
    scheduler = Scheduler(seed: seed ^ order &* 0xD134_2543_DE82_EF95)
    network = SimulatedNetwork(scheduler, seed: seed &+ 1)
    random = .seeded(seed &+ 2)
  }

  /// The time since the start.
  var elapsed: Duration { .nanoseconds(scheduler.now - Scheduler.start) }

  // MARK: Machines

  /// - Parameter listen: called at each start, before the program runs.
  /// - Throws: an error for a name that another machine has.
  func addMachines(
    _ name: String, count: Int, isAwaited: Bool, listen: ((MachineCore) -> Void)? = nil,
    _ body: @escaping @Sendable (SimulatedMachine) async throws -> Void
  ) {
    names.formUnion(count <= 1 ? [name] : (1...count).map { "\(name)-\($0)" })
    if !baseNames.insert(name).inserted { problem = problem ?? .duplicateMachine(name) }
    let shown = max(1, isAwaited ? min(count, instances ?? count) : count)
    if isAwaited { programs[name] = shown }
    for number in 1...shown {
      machines.append(
        MachineCore(
          name: count <= 1 ? name : "\(name)-\(number)", address: "10.0.0.\(machines.count + 1)",
          owner: scheduler.addOwner(dateOffset: 0), isAwaited: isAwaited, listen: listen, body: body))
    }
  }

  /// The numbers of machines that run a program, by the names without a number.
  private(set) var programs: [String: Int] = [:]

  func machine(named name: String) -> MachineCore? { machines.first { $0.name == name } }

  /// Starts a machine: its servers listen at once, and then its program runs.
  func start(_ machine: MachineCore) {
    machine.listen?(machine)
    machine.starts += 1
    machine.hasEnded = false
    let start = machine.starts, handle = Confined(SimulatedMachine(machine, self)), core = Confined(machine)
    scheduler.start(for: machine.owner) { [self] in
      do {
        try await handle.value.core.body(handle.value)
      } catch {
        log("\(core.value.name): the program has failed: \(error)")
        trace.fail(core.value.name, error)
      }
      if core.value.starts == start { core.value.hasEnded = true }
    }
  }

  var isOver: Bool { machines.allSatisfy { $0.hasEnded || !$0.isAwaited } }

  /// The names of the machines whose programs have not ended.
  var running: [String] { machines.filter { $0.isAwaited && !$0.hasEnded }.map(\.name) }

  /// Returns false if the machine had crashed already.
  func crash(_ machine: MachineCore) -> Bool {
    guard scheduler.state(of: machine.owner) != .crashed else { return false }
    machine.loop?.closeAll()
    machine.resetAccepted()
    machine.loop = nil
    scheduler.crash(machine.owner)
    machine.eventLoop = nil
    trace.abandonCalls(of: machine.name, at: elapsed)
    return true
  }

  func restart(_ machine: MachineCore) {
    guard scheduler.state(of: machine.owner) == .crashed else { return }
    machine.owner = scheduler.addOwner(dateOffset: machine.dateOffset)
    start(machine)
  }

  // MARK: Engines

  func openEngine(
    of machine: MachineCore, _ options: ConnectionOptions, _ settings: EngineSettings = EngineSettings()
  ) -> EnginePort {
    let loop: MachineLoop
    let events: EventLoop
    if let running = machine.loop, let eventLoop = machine.eventLoop {
      (loop, events) = (running, eventLoop)
    } else {
      loop = MachineLoop(of: machine, scheduler)
      let scheduler = scheduler
      events = loop.makeLoop(
        TimeSource(now: { .nanoseconds(scheduler.now) }, sleep: { try await Task.sleep(for: $0, clock: .continuous) }))
      machine.loop = loop
      machine.eventLoop = events
      loops.append(loop)
    }
    let host = Confined(loop), network = Confined(network)
    return .open(on: events, settings, options: SharedOptions(options)) { _ in
      SimulatedConnector(network.value, host.value, options)
    }
  }

  // MARK: Servers

  func serve(
    _ origin: Origin, on machine: MachineCore, identity: SimulatedIdentity?, http2: Bool, workers: Int?,
    _ answer: @escaping @Sendable (LoopbackRequest) async throws -> LoopbackResponse
  ) {
    let workers = workers.map(ServerWorkers.init)
    if let workers { queues.append(workers) }
    let service = SimulatedNetwork.Service(
      machine: machine, owner: machine.owner, identity: identity, speaksHTTP2: http2 && origin.scheme == "https"
    ) { [unowned self] far, isHTTP2 in
      connections += 1
      machine.add(far)
      let handle = { [unowned self] (request: LoopbackRequest, session: any ServerSession) in
        self.handle(request, session, of: machine, origin, workers, answer)
      }
      if isHTTP2 {
        _ = HTTP2ServerSession(far, number: connections, handle)
      } else {
        _ = HTTP1ServerSession(far, number: connections, handle)
      }
    }
    network.listen(at: "\(origin.host):\(origin.port)", service)
  }

  /// Makes a machine a proxy.
  func serve(_ proxy: SimulatedProxy, on machine: MachineCore) {
    // Requests and responses are forwarded as they are.
    let transport = SimulatedTransport(openEngine(of: machine, ConnectionOptions(), .bare(.continuous)))
    let forwarder = ProxyForwarder(transport: transport, authorization: proxy.authorization)
    var service = SimulatedNetwork.Service(
      machine: machine, owner: machine.owner, identity: nil, speaksHTTP2: false
    ) { [unowned self] far, _ in
      connections += 1
      machine.add(far)
      _ = HTTP1ServerSession(far, number: connections) { [scheduler] request, session in
        let session = Confined(session)
        scheduler.start(for: machine.owner) { session.value.respond(await forwarder.answer(request), to: request) }
      }
    }
    service.opensTunnels = true
    service.authorization = proxy.authorization
    network.listen(at: proxy.target.name, service)
  }

  /// Gives a request to the machine's code, on a task of its own, once a worker is free.
  private func handle(
    _ request: LoopbackRequest, _ session: any ServerSession, of machine: MachineCore, _ origin: Origin,
    _ workers: ServerWorkers?, _ answer: @escaping @Sendable (LoopbackRequest) async throws -> LoopbackResponse
  ) {
    var request = request
    let call = request.head[CallObserver.mark].flatMap { Int($0) }
    request.head.fields.removeAll { $0.name.lowercased() == CallObserver.mark.lowercased() }
    let given = request, session = Confined(session), name = machine.name
    let index = trace.addRequest(
      SimulationTrace.Request(
        server: machine.name, method: request.method, url: "\(origin)\(request.target)", call: call,
        idempotencyKey: request.head["Idempotency-Key"], time: elapsed))
    let released = Confined(workers)
    let begin = { [self] in
      scheduler.start(for: machine.owner) { [self] in
        var response = LoopbackResponse(status: 500)
        do { response = try await answer(given) } catch { log("\(name): the server has failed: \(error)") }
        guard !hasEnded else { return }
        trace.setResponse(
          status: response.sentStatus(over: given), wasRefused: response.wasNotProcessed(over: given), ofRequest: index)
        session.value.respond(response, to: given)
        released.value?.release()
      }
    }
    if let workers { workers.begin(begin) } else { begin() }
  }

  // MARK: Trace

  func log(_ line: String) { trace.log(line, at: elapsed) }

  func startCall(on machine: MachineCore, operation: String?) -> Int {
    trace.addCall(SimulationTrace.Call(machine: machine.name, operation: operation, start: elapsed))
  }

  func setRequest(_ head: HTTPRequest, ofCall call: Int) {
    guard !hasEnded else { return }
    trace.setRequest(
      head.method.rawValue, "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")", ofCall: call)
  }

  func endCall(_ call: Int, status: Int?, failure: String?) {
    guard !hasEnded else { return }
    trace.endCall(call, status: status, failure: failure, at: elapsed)
  }

  /// Completes the trace, and releases what the machines hold. Called while tasks of the simulation would still be
  /// enqueued here, so that those that wait for an answer do not run elsewhere.
  func finish() -> SimulationTrace {
    trace.finish(at: elapsed, digest: scheduler.digest, steps: scheduler.steps)
    // Tasks that never end keep this object, and not what it refers to.
    scheduler.forgetAll()
    network.forgetAll()
    for machine in machines { (machine.loop, machine.eventLoop) = (nil, nil) }
    machines = []
    loops = []
    for queue in queues { queue.forgetAll() }
    queues = []
    hasEnded = true
    // The tasks of a crashed machine never end, and keep this object.
    defer { trace = SimulationTrace() }
    return trace
  }

  func record(_ fault: SimulatedFault) { trace.add(fault) }
}

extension LoopbackResponse {
  /// Returns whether it says, over the version of a request, that the request was not processed.
  fileprivate func wasNotProcessed(over request: LoopbackRequest) -> Bool {
    request.stream != nil && (fault == .refusedStream || fault == .goAway)
  }

  /// Returns the status that the client gets over the version of a request; `nil` without a whole response.
  fileprivate func sentStatus(over request: LoopbackRequest) -> Int? {
    guard let fault else { return status }
    // Over HTTP/1.1, the faults of HTTP/2 are a response.
    if case .http2 = fault.kind, request.stream == nil { return 500 }
    return nil
  }
}

extension ConfigurationError {
  fileprivate static func duplicateMachine(_ name: String) -> Self {
    Self(
      "two machines of the simulation are named \(name)",
      hint: "give them other names, or add them with one call and a count")
  }
}
