// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import Logging

/// The implementation behind a ``NetworkConnection``. All work happens on its own serial queue; the only user code that
/// runs there is that of framers.
final class ConnectionCore: @unchecked Sendable {
  // Sendable because all mutable state is either in `shared`, behind a lock, or accessed only on `work`.

  /// The state that any thread may read.
  struct Shared: Sendable {
    var state = ConnectionState.setup
    var userQueue: DispatchQueue?
    var stateHandler: (@Sendable (ConnectionState) -> Void)?
    var viabilityHandler: (@Sendable (Bool) -> Void)?
    var isCancelled = false
    var isOver = false
  }

  enum Phase {
    case idle
    case dialing
    case handshaking
    case ready
    case failed(ConnectionError)
    /// Cancelled, while framers write their last bytes. `isThrough`: whether all framers have finished stopping.
    case stopping(isThrough: Bool)
    case over
  }

  enum Carrier: Sendable {
    case stream(any ByteStream)
    case datagrams(any DatagramStream)

    func close() {
      switch self {
      case .stream(let stream): stream.close()
      case .datagrams(let stream): stream.close()
      }
    }
  }

  let endpoint: ConnectionEndpoint
  let parameters: ConnectionParameters
  let dialer: any Dialer
  let shared = Lock(Shared())
  let record = Watched(ConnectionRecord())
  let work = DispatchQueue(label: "lastro.connection.core")

  // The following properties are accessed only on `work`.
  var phase = Phase.idle
  var callbacks = DispatchQueue(label: "lastro.connection.callbacks")
  var carrier: Carrier?
  var pipeline: FramerPipeline?
  var inbox: ConnectionInbox
  var isReading = false
  var hasReadEnd = false
  var outbox: ConnectionOutbox
  var isViable = false
  var watch: (any Cancelable)?
  var dialTask: Task<Void, Never>?
  var limitTask: Task<Void, Never>?
  var alarms = FramerAlarms()

  init(_ endpoint: ConnectionEndpoint, _ parameters: ConnectionParameters, _ dialer: any Dialer) {
    self.endpoint = endpoint
    self.parameters = parameters
    self.dialer = dialer
    inbox = ConnectionInbox(limit: parameters.maximumMessageBytes)
    outbox = ConnectionOutbox(limit: parameters.maximumQueuedBytes)
  }

  // MARK: from any thread

  func set<Handler>(_ handler: Handler?, at place: WritableKeyPath<Shared, Handler?>) {
    // Release the old handler outside the lock: it may hold the last reference to any object.
    let old = shared.withLock { shared in
      guard !shared.isOver else { return handler }
      defer { shared[keyPath: place] = handler }
      return shared[keyPath: place]
    }
    withExtendedLifetime(old) {}
  }

  func start(_ queue: DispatchQueue) {
    let isFirst = shared.withLock { shared in
      guard shared.userQueue == nil, !shared.isCancelled else { return false }
      shared.userQueue = queue
      return true
    }
    if isFirst { work.async { self.startDialing(callbacksOn: queue) } }
  }

  func cancel() {
    shared.withLock { $0.isCancelled = true }
    work.async { self.stop() }
  }

  func send(_ content: OutgoingContent) { work.async { self.sendOrHold(content) } }
  func receive(_ request: ReceiveRequest) { work.async { self.enqueueReceive(request) } }

  // MARK: on `work`

  private func startDialing(callbacksOn queue: DispatchQueue) {
    guard case .idle = phase else { return }
    // A serial queue that targets the user's queue, which may be concurrent.
    callbacks = DispatchQueue(label: "lastro.connection.callbacks", target: queue)
    phase = .dialing
    enter(.preparing)
    do throws(ConnectionError) {
      let request = try parameters.dialRequest(to: endpoint)
      let stack = parameters.defaultProtocolStack
      if !stack.applicationProtocols.isEmpty { pipeline = try makePipeline(stack) }
      dial(request, datagrams: stack.transportProtocol == .udp)
    } catch {
      fail(error)
    }
  }

  private func makePipeline(
    _ stack: ConnectionParameters.ProtocolStack
  ) throws(ConnectionError) -> FramerPipeline {
    guard stack.transportProtocol == .tcp else {
      throw .transport(
        .refused(.unsupported, "framers cannot run over datagrams", hint: "use .tcp, or leave the framers out"))
    }
    return try FramerPipeline(stack.applicationProtocols, remote: endpoint, parameters: parameters)
  }

  private func dial(_ request: DialRequest, datagrams: Bool) {
    dialTask = Task { [dialer, endpoint, parameters, record] in
      // Created before the dial, and outside the lock, because it may check files.
      let origin = LinkOrigin(dialer, request)
      record.change { $0.origin = origin }
      let outcome = await interruptible(within: request.connectTimeout, time: parameters.time) {
        () async -> Result<Carrier, TransportError> in
        do throws(TransportError) {
          return .success(
            datagrams
              ? .datagrams(try await dialer.dialDatagrams(request)) : .stream(try await dialer.dial(request)))
        } catch {
          return .failure(error)
        }
      }
      let result: Result<Carrier, ConnectionError> =
        switch outcome {
        case .success(.success(let carrier)): .success(carrier)
        case .success(.failure(let error)): .failure(ConnectionError(error))
        case .failure(.cancelled): .failure(.posix(.ECANCELED))
        case .failure(.limit): .failure(ConnectionError(.late("\(endpoint)", within: request.connectTimeout)))
        }
      self.work.async { self.dialed(result) }
    }
  }

  private func dialed(_ result: Result<Carrier, ConnectionError>) {
    guard case .dialing = phase else {
      if case .success(let carrier) = result { carrier.close() }
      return
    }
    dialTask = nil
    switch result {
    case .failure(let error): fail(error)
    case .success(let carrier):
      self.carrier = carrier
      record.change { $0.facts = carrier.facts }
      phase = .handshaking
      guard let pipeline else {
        becomeReady()
        return sendHeld()
      }
      limitHandshake()
      pipeline.start()
      handleEvents()
      serve()
    }
  }

  private func limitHandshake() {
    guard let limit = parameters.connectTimeout else { return }
    let time = parameters.time
    limitTask = Task { [weak self] in
      do { try await time.limit(limit) } catch { return }
      guard let self else { return }
      work.async {
        guard case .handshaking = self.phase else { return }
        self.fail(ConnectionError(.late("\(self.endpoint)", within: limit)))
      }
    }
  }

  func becomeReady() {
    guard case .handshaking = phase else { return }
    phase = .ready
    limitTask?.cancel()
    limitTask = nil
    enter(.ready)
    becomeViable(true)
    if let monitor = parameters.pathMonitor, let facts = record.read(\.facts) {
      watch = monitor.watch(facts) { [weak self] isViable in
        guard let self else { return }
        work.async { self.becomeViable(isViable) }
      }
    }
    serve()
  }

  private func becomeViable(_ now: Bool) {
    guard case .ready = phase, now != isViable else { return }
    isViable = now
    callbacks.async { self.shared.withLock { $0.viabilityHandler }?(now) }
  }

  func enter(_ state: ConnectionState) {
    shared.withLock { $0.state = state }
    switch state {
    case .failed, .cancelled: record.change { $0.hasEnded = true }
    case .setup, .waiting, .preparing, .ready: break
    }
    parameters.logger?.debug("connection changes state", metadata: ["to": "\(endpoint)", "state": "\(state)"])
    // Without a user queue, the state handler is not called.
    guard shared.withLock({ $0.userQueue != nil }) else { return }
    callbacks.async { self.shared.withLock { $0.stateHandler }?(state) }
  }

  // MARK: the end

  func fail(_ error: ConnectionError) {
    switch phase {
    case .failed, .over: return
    case .stopping: return conclude()
    case .idle, .dialing, .handshaking, .ready: break
    }
    if isViable { becomeViable(false) }
    phase = .failed(error)
    release()
    enter(.failed(error))
    failSends(error)
    inbox.fail(error)
    serve()
  }

  /// Stops the connection after a cancel.
  private func stop() {
    switch phase {
    case .stopping, .over: return
    case .idle, .dialing, .failed: conclude()
    case .handshaking, .ready:
      phase = .stopping(isThrough: false)
      abandon()
      guard let pipeline else { return conclude() }
      let isThrough = pipeline.stop()
      handleEvents()
      if case .stopping = phase { lastWrites(isThrough: isThrough) }
    }
  }

  private func lastWrites(isThrough: Bool) {
    phase = .stopping(isThrough: isThrough)
    concludeIfThrough()
    guard case .stopping = phase else { return }
    let time = parameters.time, limit = parameters.stopTimeout
    limitTask?.cancel()
    // Retains `self`, so that framers are cleaned up even if this is the last reference.
    limitTask = Task {
      try? await time.limit(limit)
      self.work.async { self.conclude() }
    }
  }

  func concludeIfThrough() {
    guard case .stopping(isThrough: true) = phase, outbox.isDrained else { return }
    conclude()
  }

  /// Fails all pending sends and receives because of a cancel.
  private func abandon() {
    failSends(.posix(.ECANCELED))
    tell(inbox.cancel())
  }

  private func conclude() {
    if case .over = phase { return }
    abandon()
    phase = .over
    release()
    shared.withLock { $0.isOver = true }
    enter(.cancelled)
    callbacks.async {
      let handlers = self.shared.withLock { shared in
        defer {
          shared.stateHandler = nil
          shared.viabilityHandler = nil
        }
        return (shared.stateHandler, shared.viabilityHandler)
      }
      // Release the handlers outside the lock: they may hold the last reference to any object.
      withExtendedLifetime(handlers) {}
    }
  }

  private func release() {
    dialTask?.cancel()
    limitTask?.cancel()
    dialTask = nil
    limitTask = nil
    alarms.cancelAll()
    watch?.cancel()
    watch = nil
    pipeline?.cleanUp()
    pipeline = nil
    carrier?.close()
    carrier = nil
  }
}

extension ConnectionCore.Carrier {
  var facts: StreamFacts {
    switch self {
    case .stream(let stream): stream.facts
    case .datagrams(let stream): stream.facts
    }
  }
}

extension TransportError {
  static func late(_ endpoint: String, within limit: Duration?) -> Self {
    Self(
      stage: .timeout, code: .connectTimeout,
      message: "the connection to \(endpoint) was not ready within \(limit?.brief ?? "the connect timeout")",
      hint: "raise connectTimeout, or check host, port and network")
  }
}

extension Connection {
  /// Starts the connection if necessary, and waits until it is ready if its state can be observed.
  func settle(within limit: Duration?) async throws(ConnectionError) {
    guard let connection = self as? NetworkConnection else {
      return start(queue: DispatchQueue(label: "lastro.connection"))
    }
    guard let outcome = connection.outcome else { return try await start(within: limit) }
    try outcome.get()
  }
}
