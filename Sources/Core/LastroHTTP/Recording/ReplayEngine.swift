// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro
internal import LastroSupport
internal import LastroWire

/// An engine that performs the transfers of a trace: the machines of HTTP/1.1 and HTTP/2, the pool and the limits are
/// those of every call, over links that deliver the recorded bytes at the recorded times.
///
/// It starts no thread and opens no descriptor.
// Sendable because the calls of one replay follow each other, and each returns only when the loop is at rest.
package final class ReplayEngine: CallReplay.Engine, @unchecked Sendable {
  /// The time of the first event on the loop's clock. Connections may be older, and 0 means "now" to a loop.
  private static let origin: Int64 = 1_000_000_000_000_000
  private static let start: Int64 = 1_000_000_000
  /// The maximum number of limits that may pass without an answer.
  private static let mostLimits = 10_000

  private let clock: ReplayClock
  private let report: @Sendable (String) -> Void
  private let events: [TraceEvent]
  /// The durations of the transfers by their numbers.
  private let durations: [Int: Int64]
  private let time = Lock(ReplayEngine.start)
  private let network: ReplayNetwork
  private let manual: ManualLoop
  private let port: EnginePort
  /// The received frames of HTTP/2, by the numbers of their connections.
  private let frames: [UInt64: ReplayFrames]
  private var next = 0

  /// Creates an engine for a trace.
  ///
  /// - Parameter report: called with a line for each event on a connection.
  package init(_ trace: CallTrace, _ clock: ReplayClock, report: @escaping @Sendable (String) -> Void) {
    self.clock = clock
    self.report = report
    events = trace.events.filter { $0.at != nil }
    var durations: [Int: Int64] = [:]
    var open: [Int] = []
    for event in trace.events {
      if event.event == .transfer, let number = event.transfer { open.append(number) }
      guard event.event == .transferEnded else { continue }
      let total = (event.facts ?? event.error?.facts)?.timings.total
      for number in open { durations[number] = total }
      open = []
    }
    self.durations = durations
    let reactor = MemoryReactor()
    network = ReplayNetwork(reactor)
    let source = TimeSource(
      now: { [time] in .nanoseconds(time.withLock { $0 }) }, sleep: { _ in throw CancellationError() })
    manual = ManualLoop(time: source, reactor: reactor, guest: network)
    let settings = EngineSettings(events.lazy.compactMap(\.settings).first)
    var received: [UInt64: [(number: Int, frames: [TraceFrame])]] = [:]
    for (number, event) in events.enumerated() where event.event == .read {
      if let link = event.link, let frames = event.frames { received[link, default: []].append((number, frames)) }
    }
    frames = received.mapValues { ReplayFrames($0) }
    var options = ConnectionOptions()
    // Without TLS, HTTP/2 is used only where it is asked for.
    if events.contains(where: { $0.used?.session != nil && $0.used?.hasTLS == false }) { options.httpVersion = .http2 }
    let reference = EngineReference()
    port = EnginePort(on: manual.loop, settings, options: SharedOptions(options), reference)
    manual.loop.seat.withLock { [network] core in core?.open(reference, settings, network) }
  }

  deinit {
    port.loop.shutDown(cancelling: true)
    _ = manual.settle()
  }

  private var now: Int64 {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = max($0, newValue) } }
  }

  package func perform(
    _ request: TransferRequest, number: Int
  ) throws(ReplayOmission) -> Result<TransferResponse, TransportError> {
    guard let first = events[next...].firstIndex(where: { $0.transfer == number && $0.event == .began }),
      let enqueued = events[first].enqueued, let started = events[first].started
    else { throw .noConnection }
    if waits(request, number, since: started) { throw .waited }
    // What happened to idle connections since the previous transfer.
    while next < first {
      if !clock.isVirtual, let at = events[next].at { now = Self.origin + min(at, enqueued, started) }
      apply(next)
      _ = manual.settle()
      next += 1
    }
    network.mayExpect = events[first].settings?.mayExpect ?? true
    let begin = now
    let shift = clock.isVirtual ? now - (Self.origin + min(enqueued, started)) : 0
    warmUp(for: number, request, shift: shift)
    // The engine's time is that of its turn, in which the request may have arrived.
    now = Self.origin + min(enqueued, started) + shift
    let job = EngineJob(request: request, asks: request.asks, own: nil, port: port)
    now = Self.origin + started + shift
    if !port.start(job) { job.finish(.shutDown, facts: nil) }
    _ = manual.settle()
    deliver(number, to: job, until: clock.isVirtual ? nil : durations[number].map { started + $0 }, shift: shift)
    finish(number, job, startedAt: Self.origin + started + shift)
    guard job.answer.isGiven else {
      job.cancel()
      _ = manual.settle()
      throw .unfinished
    }
    clock.advance(by: .nanoseconds(now - begin))
    do throws(TransportError) {
      let response = try job.takeAnswer()
      // The rest of a streamed body.
      if response.body.bytes == nil { drain(number, shift: shift) }
      return .success(response)
    } catch {
      return .failure(error)
    }
  }

  /// Returns whether a transfer waited for the connection of another call, for longer than a dial may take here.
  private func waits(_ request: TransferRequest, _ number: Int, since start: Int64) -> Bool {
    guard let event = events[next...].first(where: { $0.transfer == number && $0.event == .used }),
      let at = event.at, event.used?.isReused == true
    else { return false }
    let limit = [request.connectTimeout, request.idleTimeout].compactMap(\.self).min() ?? .seconds(1 << 30)
    return .nanoseconds(at - start) >= limit
  }

  /// Performs the recorded events of a transfer until its job is answered.
  ///
  /// - Parameter end: the time at which the transfer ended; `nil` if it may end at another time.
  private func deliver(_ number: Int, to job: EngineJob, until end: Int64?, shift: Int64) {
    while next < events.count, !job.answer.isGiven {
      let event = events[next]
      guard let at = event.at, concerns(event, number) else { break }
      // It is noted with the first use of a connection, which comes before the limits of its time are looked at.
      if event.event == .began {
        next += 1
        continue
      }
      // What happened on the connection after the end of the transfer.
      if let end, at > end { break }
      // A dial fails before the limits of its time are looked at.
      if event.event == .dialFailed { apply(next, shift: shift) }
      guard advance(to: Self.origin + at + shift, job) else { return }
      // The engine itself may close the connection, because of a limit that passes at this time.
      if event.event == .closed { _ = manual.settle() }
      guard !job.answer.isGiven else { return }
      next += 1
      if event.event != .dialFailed { apply(next - 1, shift: shift) }
      // The end was read in the same turn as the frames before it.
      if !endsConnection(next, at: event), !continues(next, event) { _ = manual.settle() }
    }
  }

  /// Returns whether an event belongs to a transfer, or to an earlier one, the rest of whose response is still read.
  private func concerns(_ event: TraceEvent, _ number: Int) -> Bool { event.transfer.map { $0 <= number } ?? false }

  /// Returns whether an event continues an event before it in the same turn: a write, or a look at what was delivered, after
  /// the connection opened or wrote, or a further read.
  private func continues(_ index: Int, _ event: TraceEvent) -> Bool {
    guard index < events.count, events[index].at == event.at, events[index].transfer == event.transfer else {
      return false
    }
    return switch event.event {
    case .used, .sent: [.sent, .delivery].contains(events[index].event)
    case .read: events[index].event == .read && events[index].link == event.link
    default: false
    }
  }

  /// Returns whether an event is the end of a connection, at the time of an event before it.
  private func endsConnection(_ index: Int, at event: TraceEvent) -> Bool {
    guard event.event == .read, event.frames != nil, index < events.count, events[index].link == event.link,
      events[index].at == event.at
    else { return false }
    return events[index].event == .ended || events[index].event == .failed
  }

  /// Returns whether something was read from the connection of an event after it.
  private func hasInput(after index: Int) -> Bool {
    events[(index + 1)...].contains { event in
      event.link == events[index].link && [.read, .ended, .failed].contains(event.event)
    }
  }

  /// Advances the clock. A virtual clock stops at each limit that passes.
  ///
  /// - Returns: false if the job was answered before.
  private func advance(to end: Int64, _ job: EngineJob) -> Bool {
    if clock.isVirtual {
      while let due = manual.due, due > 0, due < end {
        now = due
        _ = manual.settle()
        if job.answer.isGiven { return false }
      }
    }
    now = end
    return true
  }

  /// Lets limits pass until the job is answered.
  private func finish(_ number: Int, _ job: EngineJob, startedAt: Int64) {
    guard !job.answer.isGiven else { return }
    if !clock.isVirtual, let duration = durations[number] {
      now = startedAt + duration
      _ = manual.settle()
    }
    for _ in 0..<Self.mostLimits where !job.answer.isGiven {
      guard let due = manual.due, due < .max else { return }
      now = due
      _ = manual.settle()
    }
  }

  /// Delivers what is left of a transfer after its head.
  private func drain(_ number: Int, shift: Int64) {
    while next < events.count, let at = events[next].at, concerns(events[next], number) {
      now = Self.origin + at + shift
      apply(next, shift: shift)
      _ = manual.settle()
      next += 1
    }
    for _ in 0..<Self.mostLimits where port.activeJobs > 0 {
      guard let due = manual.due, due < .max else { return }
      now = due
      _ = manual.settle()
    }
  }

  /// Performs an event of a connection.
  private func apply(_ index: Int, shift: Int64 = 0) {
    let event = events[index]
    let link = event.link.flatMap { network.links[$0] }
    switch event.event {
    case .used:
      guard link == nil, let number = event.link, let note = event.used else { break }
      guard let opened = network.open(number, note, wasUsed: note.isReused) else { break }
      opened.limitRoom()
      report("connection \(number) to \(note.remoteAddress ?? "the server") opens")
    case .sent where event.frames != nil:
      link?.allow(event.frames ?? [])
      for line in event.frames?.compactMap(\.line) ?? [] { report("sent \(line)") }
    case .read where event.frames != nil:
      for line in event.frames?.compactMap(\.line) ?? [] { report("received \(line)") }
      guard let link, let number = event.link, let frames = frames[number] else { break }
      link.arrive(link.mapped(frames, of: index))
    case .sent:
      let count = event.byteCount
      link?.makeRoom(for: count)
      report("sent \(count) bytes")
    case .read:
      let bytes = event.pieces?.flatMap(\.bytes) ?? []
      report("received \(bytes.count) bytes")
      link?.arrive(bytes)
    case .ended:
      report("the server ends the connection")
      link?.finish(with: .end(isClean: event.isClean ?? true))
    case .failed:
      // A write failed, but bytes or the end were read after it.
      if hasInput(after: index) {
        if link?.gate == nil { link?.failWrites(with: event.error?.error ?? .goneBeforeSending) }
        break
      }
      report("the connection fails")
      link?.finish(with: .failed, event.error?.error ?? .goneBeforeSending)
    case .closed: link?.finish(with: .end(isClean: true))
    case .delivery:
      guard let acknowledged = event.acknowledged, let queued = event.queued else { break }
      link?.deliver(
        LinkDelivery(
          acknowledged: acknowledged, queued: queued,
          acknowledgedAt: event.acknowledgedAt.map { $0 + Self.origin + shift }))
    case .dialFailed:
      report("the dial fails")
      if let error = event.error?.error { network.failDial(error) }
    default: break
    }
  }

  /// Opens the connection that the transfer uses, if it was opened before the call.
  private func warmUp(for number: Int, _ request: TransferRequest, shift: Int64) {
    let own = events[next...].first { $0.transfer == number && $0.event == .used }
    guard let event = own, let link = event.link, network.links[link] == nil, let note = event.used, note.isReused
    else { return }
    guard let enqueued = events[next].enqueued, let started = events[next].started else { return }
    // A request that waited for the connection gets it when it is free.
    if let at = event.at, at > started { return }
    // The server was last heard from at this time.
    now = Self.origin + min(enqueued, started, note.session?.heardAt ?? enqueued) + shift
    var other = TransferRequest(head: request.head)
    other.head.method = .get
    other.head.headerFields = [:]
    // A body takes up as much of the server's window as earlier bodies did.
    let taken = HTTP2Tape.firstWindow - (note.session?.window ?? HTTP2Tape.firstWindow)
    if taken > 0 {
      other.head.method = .post
      other.body = .raw([UInt8](repeating: 0, count: min(taken, HTTP2Tape.firstWindow)))
    }
    let job = EngineJob(request: other, asks: .ordinary, own: nil, port: port)
    guard port.start(job) else { return }
    _ = manual.settle()
    let opened = network.open(link, note)
    opened?.answersAlone = true
    _ = manual.settle()
    if !job.answer.isGiven { job.cancel() }
    _ = manual.settle()
    opened?.limitRoom()
  }
}

extension TraceEvent {
  fileprivate var byteCount: Int {
    (pieces ?? []).reduce(0) { count, piece in
      switch piece {
      case .left(let left): count + left
      default: count + piece.bytes.count
      }
    }
  }
}

extension EngineSettings {
  /// Creates the settings of a recorded engine.
  fileprivate init(_ note: EngineNote?) {
    self.init()
    // A stream must not wait for its reader, which reads after the replay of its bytes.
    streamBufferBytes = 1 << 30
    connectionLifetime = .seconds(1 << 30)
    idleLifetime = .seconds(1 << 30)
    guard let note else { return }
    (userAgent, sendsAccept, decompresses) = (note.userAgent, note.sendsAccept, note.decompresses)
    if let names = note.codings { codings = names.map { ContentCoding.recorded($0) } }
    (maximumHeadBytes, maximumHeaderFields) = (note.maximumHeadBytes, note.maximumHeaderFields)
    (maximumInterimResponses, maximumContentCodings) = (note.maximumInterimResponses, note.maximumContentCodings)
    maximumDecompressionRatio = note.maximumDecompressionRatio
    idleConnections = note.idleConnections
    (http2StreamsPerHost, http2StreamsPerConnection) = (note.http2.streamsPerHost, note.http2.streamsPerConnection)
    http2Liveness.silence = note.http2.silence
    http2Liveness.answer = note.http2.answer
    http2Liveness.probe = note.http2.probe
  }
}
