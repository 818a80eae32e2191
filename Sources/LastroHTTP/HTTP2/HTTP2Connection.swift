// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP2
internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A stream that carries an ``HTTP2Session``: many jobs at a time.
///
/// One task reads as long as it stands, another writes what the session has. What follows for jobs is decided under the
/// lock by their ``HTTP2Run``s, and done behind it.
final class HTTP2Connection: ExchangeConnection {
  private struct State {
    /// `nil` where there was no memory for one.
    let session: HTTP2Session?
    private(set) var runs: [HTTP2Stream: HTTP2Run] = [:]
    /// The streams of jobs.
    private var streams: [ObjectIdentifier: HTTP2Stream] = [:]
    /// Those that something happened to: to look at all of them each time would cost their number.
    private var touched: [HTTP2Run] = []
    var heads = HTTP2HeadMemory()
    var served = 0
    var isClosed = false
    /// Whether it was made under trust rules that hold no more.
    var isRetired = false
    /// When it is closed, whatever was not written: what is said last has a second.
    var closesAt: Duration?
    /// Why the stream ended, where that is known better than by HTTP/2.
    var reason: TransportError?
    /// The runs whose bytes are in the piece that is being written.
    var writing: [HTTP2Run] = []
    /// Whether a piece is being written.
    var isWriting = false
    /// The time at which a write completed last.
    var wroteAt: Duration?
    /// What the pool has to be told.
    var ended = 0
    var mayHaveChanged = false

    init(session: HTTP2Session?) { self.session = session }

    mutating func add(_ run: HTTP2Run) {
      runs[run.stream] = run
      streams[ObjectIdentifier(run.job)] = run.stream
      touch(run)
    }

    mutating func remove(_ run: HTTP2Run) {
      runs[run.stream] = nil
      streams[ObjectIdentifier(run.job)] = nil
    }

    /// A run that something happens to now.
    mutating func run(_ stream: HTTP2Stream) -> HTTP2Run? {
      guard let run = runs[stream] else { return nil }
      touch(run)
      return run
    }

    mutating func run(of job: ExchangeJob) -> HTTP2Run? { streams[ObjectIdentifier(job)].flatMap { run($0) } }

    mutating func touchAll() { for run in runs.values { touch(run) } }

    private mutating func touch(_ run: HTTP2Run) {
      guard !run.isTouched else { return }
      run.isTouched = true
      touched.append(run)
    }

    mutating func takeTouched() -> [HTTP2Run] {
      defer { touched = [] }
      for run in touched { run.isTouched = false }
      return touched
    }

    /// The state of the bytes that were written.
    ///
    /// - Parameter time: since when a write has to have completed.
    func output(since time: Duration) -> HTTP2Liveness.Output {
      if !isWriting, !hasOutput { return .delivered }
      return wroteAt.map { $0 > time } ?? false ? .moving : .stuck
    }

    var hasOutput: Bool { session.map { $0.hasOutput || $0.wantsClose } ?? true }

    /// When its owner must look at it.
    var deadline: Duration? {
      if isClosed { return nil }
      let session = session?.deadline.map { Duration.nanoseconds(Int64(clamping: $0)) }
      return [session, closesAt].compactMap(\.self).min()
    }
  }

  private static let readBytes = 64 * 1024
  private static let writeBytes = 64 * 1024

  private let stream: any ByteStream
  private let pool: ConnectionPool
  private let origin: ConnectionOrigin
  private let time: TimeSource
  private let state: Watched<State>
  // Unchecked because it is used under the lock of `state` alone.
  private nonisolated(unsafe) let effects = Effects()
  private let alarm = Lock<Alarm?>(nil)

  init(_ stream: any ByteStream, pool: ConnectionPool, origin: ConnectionOrigin) {
    self.stream = stream
    self.pool = pool
    self.origin = origin
    time = pool.settings.time
    var configuration = HTTP2Configuration()
    configuration.streams = pool.settings.http2Streams
    configuration.limits = pool.settings.limits
    state = Watched(State(session: try? HTTP2Session(configuration, now: Self.nanoseconds(time.now()))))
    let ticks = Alarm(time) { [weak self] now in self?.tick(now) }
    alarm.withLock { $0 = ticks }
  }

  private static func nanoseconds(_ time: Duration) -> UInt64 { UInt64(time.wholeNanoseconds) }
  private var now: UInt64 { Self.nanoseconds(time.now()) }

  /// Begins to read and to write.
  func open() {
    Task { await readAll() }
    Task { await writeAll() }
  }

  // MARK: Jobs

  func begin(_ job: ExchangeJob) -> ExchangeBeginning {
    switch origin.admit() {
    case .outdated:
      retire()
      return .unfit
    case .refused(let error): return .refused(error)
    case .admitted: break
    }
    let settings = job.settings
    let request: HTTP2Request
    do throws(TransportError) {
      request = try HTTP2Request(
        job.request, userAgent: settings.userAgent, sendsAccept: settings.sendsAccept,
        decompresses: settings.decompresses)
    } catch {
      return .refused(error)
    }
    guard job.attach(self) else { return .over }
    var result = ExchangeBeginning.begun
    change { state in result = begin(job, request, &state) }
    if case .begun = result { return result }
    job.detach()
    return result
  }

  private func begin(_ job: ExchangeJob, _ request: HTTP2Request, _ state: inout State) -> ExchangeBeginning {
    // One that is over since it was attached has been dropped in vain.
    if job.isOver { return .over }
    guard !state.isClosed, let session = state.session,
      let stream = session.open(request.fields, body: request.body, now: now)
    else {
      state.mayHaveChanged = true
      return .unfit
    }
    let run = HTTP2Run(
      job, stream, of: session, request, isReused: state.served > 0, facts: facts(isReused: state.served > 0), effects)
    state.served += 1
    state.add(run)
    run.start()
    return .begun
  }

  func drop(_ job: ExchangeJob) { change(job) { $0.conclude(.failed(.cancelled(requestSent: true))) } }

  func readerLeft(_ job: ExchangeJob) { change(job) { $0.readerLeft() } }

  func resumeReceiving(_ job: ExchangeJob) { change(job) { $0.resumeReceiving() } }

  func resumeSending(_ job: ExchangeJob) { change(job) { $0.resumeSending() } }

  func check(_ job: ExchangeJob, now: Duration) -> Duration? {
    var due: Duration?
    change { state in
      guard let run = state.run(of: job) else { return }
      if run.check(now) { state.session?.probe(now: Self.nanoseconds(now)) }
      due = run.due
    }
    return due
  }

  /// A place that was kept for a job is free.
  func giveBack() {
    change { state in
      state.ended += 1
      state.mayHaveChanged = true
    }
  }

  /// Takes no more jobs: those that it has go on.
  private func retire() {
    change { state in
      state.mayHaveChanged = true
      state.isRetired = true
    }
  }

  func close() {
    change { state in
      state.session?.close()
      state.touchAll()
      for run in state.runs.values { run.conclude(.failed(.shutDown)) }
    }
  }

  // MARK: The stream

  private func readAll() async {
    while !state.read({ $0.isClosed }) {
      do throws(TransportError) {
        guard let data = try await stream.read(upTo: Self.readBytes, within: nil) else { return ended(nil) }
        received(data)
      } catch {
        return ended(error)
      }
    }
  }

  private func received(_ data: Data) {
    change { state in
      data.withUnsafeBytes { bytes in
        state.session?.receive(bytes, now: now)
        perform(bytes, &state)
        if let stream = state.session?.streamWithinHead { state.run(stream)?.noteMovement() }
      }
    }
  }

  private func ended(_ error: TransportError?) {
    change { state in
      state.reason = state.reason ?? error
      state.session?.connectionEnded()
      perform(nil, &state)
      close(&state)
    }
  }

  private func writeAll() async {
    while await state.wait(until: { $0.isClosed || $0.hasOutput }), !state.read({ $0.isClosed }) {
      let piece = takeOutput()
      guard !piece.isEmpty else {
        change { state in if state.session?.wantsClose ?? true { close(&state) } }
        continue
      }
      do throws(TransportError) {
        try await stream.write(piece, within: nil)
        wrote()
      } catch {
        // What the server said before it went is read: there may be answers. Nothing more is written, so that no other
        // job is taken.
        return change { state in
          state.reason = error
          state.isRetired = true
          state.mayHaveChanged = true
        }
      }
    }
  }

  private func takeOutput() -> Data {
    var piece = Data(count: Self.writeBytes)
    var count = 0
    change { state in
      guard let session = state.session else { return }
      piece.withUnsafeMutableBytes { space in
        count = session.fill(space, inRecords: stream.facts.tls != nil, now: now) {
          perform(nil, &state)
          return false
        }
      }
      state.isWriting = count > 0
      for run in state.runs.values where run.noteSending() { state.writing.append(run) }
    }
    return piece.prefix(count)
  }

  /// A write that completes is a sign of life for those whose bytes it carried.
  private func wrote() {
    change { state in
      state.isWriting = false
      state.wroteAt = time.now()
      for run in state.writing { run.noteWritten() }
      state.writing.removeAll(keepingCapacity: true)
    }
  }

  private func tick(_ now: Duration) -> Duration? {
    change { state in
      let patience = Duration.nanoseconds(Int64(clamping: HTTP2Liveness.Limits().answer))
      state.session?.tick(now: Self.nanoseconds(now), output: state.output(since: now - patience))
      if let end = state.closesAt, now >= end { close(&state) }
    }
    return state.read(\.deadline)
  }

  // MARK: Under the lock, and behind it

  /// Tells each run what concerns it.
  ///
  /// - Parameter bytes: what was received last, of which bodies are told as ranges.
  private func perform(_ bytes: UnsafeRawBufferPointer?, _ state: inout State) {
    while let event = state.session?.next() {
      switch event {
      case .head(let stream, let head): state.run(stream)?.received(head, &state.heads)
      case .body(let stream, let range):
        if let bytes { state.run(stream)?.received(UnsafeRawBufferPointer(rebasing: bytes[range])) }
      case .answered(let stream): state.run(stream)?.answered()
      case .wantsBody(let stream): state.run(stream)?.fill()
      case .stopsBody(let stream): state.run(stream)?.stopBody()
      case .closed(let stream, let ending):
        state.run(stream)?.closed(ending, reason: state.reason)
        if ending == .unprocessed(.http11Required) { effects.add { [self] in pool.demandsHTTP1(self) } }
        state.mayHaveChanged = true
      case .interim(let stream, let head): state.run(stream)?.received(interim: head)
      case .trailers(let stream, let fields): state.run(stream)?.received(trailers: fields)
      case .capacity, .goingAway, .unhealthy, .failed: state.mayHaveChanged = true
      }
    }
  }

  private func change(_ job: ExchangeJob, _ body: (HTTP2Run) -> Void) {
    change { state in
      if let run = state.run(of: job) { body(run) }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let list = state.change { state in
      body(&state)
      perform(nil, &state)
      settle(&state)
      return effects.takeAll()
    }
    for effect in list { effect() }
  }

  private func settle(_ state: inout State) {
    var over: [HTTP2Run] = []
    while case let touched = state.takeTouched(), !touched.isEmpty {
      for run in touched where state.runs[run.stream] === run {
        guard run.outcome == nil else {
          over.append(run)
          forget(run, &state)
          continue
        }
        let due = run.due
        effects.add { run.job.set(due) }
      }
      perform(nil, &state)
    }
    tellPool(&state)
    for run in over { answer(run) }
    if state.closesAt == nil, state.session?.loss != nil { state.closesAt = time.now() + .seconds(1) }
    let deadline = state.deadline
    effects.add { [self] in alarm.withLock { $0 }?.set(deadline) }
  }

  /// Ends the HTTP/2 stream of a run that is over.
  private func forget(_ run: HTTP2Run, _ state: inout State) {
    state.remove(run)
    state.ended += 1
    guard !run.isClosed else { return }
    state.session?.reset(run.stream, run.isAnswered ? .noError : .cancel)
  }

  /// Before the caller, who may make the next request at once.
  private func tellPool(_ state: inout State) {
    guard state.ended > 0 || state.mayHaveChanged else { return }
    let ended = state.ended
    let capacity = capacity(state)
    state.ended = 0
    state.mayHaveChanged = false
    effects.add { [self] in pool.changed(self, used: ended, capacity: capacity) }
  }

  private func capacity(_ state: State) -> Int? {
    guard !state.isClosed, !state.isRetired, let session = state.session, !session.isClosedToRequests else {
      return nil
    }
    return state.runs.count + session.freeStreams
  }

  private func answer(_ run: HTTP2Run) {
    guard case .again = run.outcome else { return run.report() }
    effects.add { [self] in
      run.job.detach()
      pool.again(run.job)
    }
  }

  private func close(_ state: inout State) {
    guard !state.isClosed else { return }
    state.isClosed = true
    effects.add { [self] in
      stream.close()
      alarm.withLock { $0 }?.cancel()
      pool.gone(self)
    }
  }

  // MARK: What is known

  private func facts(isReused: Bool) -> TransferFacts {
    let facts = stream.facts
    return TransferFacts(
      remoteAddress: facts.remoteAddress, remotePort: facts.remotePort, connectionID: facts.localPort.map(Int64.init),
      connectionReused: isReused, trust: facts.trust)
  }
}
