// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// An ``HTTP2Session`` over a connection: moves its bytes, and tells each ``HTTP2Call`` what concerns it.
///
/// What is to be sent is gathered until the turn of the loop ends, and goes out at once: ``HTTPEngine/settle()``.
/// Owner: ``HostPool``, and the connection. Thread: the loop's.
final class HTTP2Multiplexer: ConnectionSession {
  /// Bytes that are read, or written, for one connection before others have their turn.
  private static let turnBytes = 512 * 1024

  let connection: HTTPConnection
  let session: HTTP2Session
  private let host: HostPool
  /// By the slot of their HTTP/2 stream.
  // Unchecked, as ``unsent``, because the loop has it alone, and changing it calls nothing that comes back here.
  @exclusivity(unchecked) private var calls: [HTTP2Call?] = []
  private var openCount = 0
  /// Calls whose heads were not sent yet.
  @exclusivity(unchecked) private var unsent: [HTTP2Call] = []
  /// Bytes that the socket did not accept, from ``written`` on.
  private var outgoing: [UInt8] = []
  private var written = 0
  /// Whether heads are among it.
  private var owesHeads = false
  /// Whether it is to be flushed in this turn, or is being flushed.
  private var isSending = false
  /// Whether there may be output that the session was not asked for.
  private var hasNews = false
  /// The bytes that it may still write in the turn that began at ``budgetedAt``.
  private var budget = 0
  private var budgetedAt = Int64.min
  private var hasServed = false
  var heads = HTTP2HeadMemory()
  /// The time at which bytes were last received.
  private(set) var heardAt: Int64
  /// The state of outgoing bytes when the kernel was asked last, while a PING is unanswered.
  private var delivery: LinkDelivery?
  /// Whether it is doubtful that the server is there: until something comes, it gets no more requests.
  private var isSuspect = false
  /// The reason why it ended, if more is known than HTTP/2 reports.
  private(set) var failure: TransportError?

  init(_ connection: HTTPConnection, of host: HostPool) throws(HTTP2Violation) {
    self.connection = connection
    self.host = host
    let settings = host.engine.settings
    var configuration = HTTP2Configuration()
    configuration.streams = min(settings.http2StreamsPerConnection, settings.http2StreamsPerHost)
    configuration.streamsBeforeSettings = min(
      host.machine.allowedStreams ?? configuration.streams, configuration.streams)
    configuration.liveness = settings.http2Liveness
    configuration.limits = settings.messages.limits
    heardAt = host.engine.now
    session = try HTTP2Session(configuration, now: UInt64(clamping: host.engine.now))
  }

  private var engine: HTTPEngine { host.engine }
  private var now: UInt64 { UInt64(clamping: engine.now) }
  var isIdle: Bool { openCount == 0 }
  /// Whether one exchange at most uses it.
  var isAlone: Bool { openCount <= 1 }
  /// The requests that it takes.
  var room: HostMachine.Room {
    HostMachine.Room(
      free: isSuspect || connection.isClosed ? 0 : session.freeStreams, allowed: session.allowedStreams,
      isSuspect: isSuspect)
  }

  private func tellRoom() { host.tell(.room(connection.number, room)) }

  /// Takes up what came with the handshake.
  func begin() {
    let held = connection.held
    connection.held = []
    held.withUnsafeBytes { if !$0.isEmpty { take($0) } }
    noteOutput()
  }

  // MARK: Streams

  /// Opens a stream for an exchange, whose head goes out at the end of the turn, if that may be.
  func start(_ exchange: Exchange) -> Exchange.Start {
    exchange.wasActive()
    let request: HTTP2Request
    do throws(TransportError) {
      let settings = engine.settings.messages
      request = try HTTP2Request(
        exchange.job.request, userAgent: settings.userAgent, sendsAccept: settings.sendsAccept,
        decompresses: settings.decompresses)
    } catch {
      return .failed(error)
    }
    guard let stream = session.open(request.fields, body: request.body, now: now) else { return .outdated }
    let call = HTTP2Call(exchange, on: self, stream, headBytes: Int64(request.fields.byteCount))
    while calls.count <= stream.slot { calls.append(nil) }
    calls[stream.slot] = call
    exchange.run(by: call, isOnReused: hasServed)
    hasServed = true
    connection.noteActive()
    openCount += 1
    unsent.append(call)
    noteOutput()
    return .running
  }

  /// Ends a stream, unless it is over.
  func close(_ stream: HTTP2Stream, _ code: LastroHTTP.HTTP2ErrorCode) {
    session.reset(stream, code)
    forget(stream)
    noteOutput()
  }

  /// The stream's call hears no more of it.
  private func forget(_ stream: HTTP2Stream) {
    guard stream.slot < calls.count, let call = calls[stream.slot].take() else { return }
    openCount -= 1
    if !unsent.isEmpty { unsent.removeAll { $0 === call } }
    host.tell(.streamClosed(connection.number, room))
  }

  /// Asks a server that was late if it is there, and sends it no other request until something comes.
  func doubt(isSilent: Bool) {
    if isSilent {
      isSuspect = true
      tellRoom()
    }
    session.probe(now: now)
    noteOutput()
  }

  // MARK: Receiving

  func ready(readable: Bool, writable: Bool) {
    if readable { read() }
    if writable { noteOutput() }
  }

  func retireIdle() { retire() }

  private func retire() { host.tell(.retired(connection.number)) }

  /// Whether the connection may carry a request, as far as is known. Its server may have closed it while it was idle.
  var isFit: Bool {
    if engine.isTooOld(connection) { retire() } else { readIfIdle() }
    return room.free > 0 && !engine.isTooOld(connection)
  }

  func end() { close() }

  /// Reads what there is, where no stream is open: the server may have ended it, or be about to.
  func readIfIdle() {
    guard isIdle else { return }
    // Behind what came in this turn more may lie: not all is read at once.
    let isHeard = connection.isHeard && heardAt < engine.now && !connection.link.hidesInput
    if !isHeard, connection.link.hasInput { read() }
  }

  func read() {
    connection.noteReading()
    engine.context.withScratch { scratch in read(into: scratch, isLast: false) }
  }

  /// - Parameter isLast: whether it is not read again.
  private func read(into space: UnsafeMutableRawBufferPointer, isLast: Bool) {
    var budget = Self.turnBytes
    var isBulk = false
    while budget > 0, !connection.isClosed {
      switch connection.receive(into: space) {
      case .moved(let count):
        isBulk = isBulk || count + HTTPConnection.recordBytes > space.count
        take(UnsafeRawBufferPointer(rebasing: space[..<count]))
        // A read costs a call, however little comes: records of a byte each must not hold the turn.
        budget -= max(count, HTTPConnection.recordBytes)
        // What is left, if anything, makes the descriptor ready again. But where more answers are waited for, more may
        // lie here, each a record of its own: read one a turn, they would be answered, and asked for, one by one. Nor
        // does a small record end a large body: a server that writes 64 KiB at a time makes one behind four full ones.
        if !isLast, count < HTTPConnection.partBytes, openCount < 2, !isBulk, !connection.link.hidesInput { return }
      case .wait: return
      case .end: return end(nil)
      case .failed: return end(connection.link.failure)
      }
    }
    if !isLast { connection.readOn() }
  }

  private func take(_ bytes: UnsafeRawBufferPointer) {
    heardAt = engine.now
    if isSuspect {
      isSuspect = false
      tellRoom()
    }
    session.receive(bytes, now: now)
    perform(bytes)
    if let stream = session.streamWithinHead { call(stream)?.exchange.receivedBytes() }
    noteOutput()
  }

  /// The connection ended, or broke.
  private func end(_ error: TransportError?) {
    guard !connection.isClosed else { return }
    failure = error
    session.connectionEnded()
    perform(nil)
    drop()
  }

  private func drop() {
    connection.close()
    host.ended(self)
  }

  // MARK: Events

  /// - Parameter bytes: the bytes received last, of which bodies are ranges.
  private func perform(_ bytes: UnsafeRawBufferPointer?) {
    while let event = session.next() {
      switch event {
      case .head(let stream, let head): call(stream)?.received(head)
      case .body(let stream, let range):
        guard let bytes else { break }
        call(stream)?.received(UnsafeRawBufferPointer(rebasing: bytes[range]))
      case .answered(let stream): call(stream)?.answered()
      case .wantsBody(let stream): call(stream)?.fill()
      case .stopsBody(let stream): call(stream)?.stopBody()
      case .closed(let stream, let ending):
        guard let call = call(stream) else { break }
        forget(stream)
        call.closed(ending)
      case .interim(let stream, let head):
        call(stream)?.received(interim: head)
      case .trailers(let stream, let fields): call(stream)?.exchange.received(trailers: fields)
      case .capacity: tellRoom()
      case .goingAway, .unhealthy, .failed: retire()
      }
    }
  }

  private func call(_ stream: HTTP2Stream) -> HTTP2Call? {
    guard stream.slot < calls.count, let call = calls[stream.slot], call.stream == stream else { return nil }
    return call
  }

  // MARK: Sending

  /// There may be something to send.
  func noteOutput() {
    hasNews = true
    if isSending || connection.isClosed { return }
    isSending = true
    engine.noteOutput(self)
  }

  /// Sends what there is, in as few calls as there can be.
  func flush() {
    // Until the end: what exchanges give meanwhile goes out with the rest, and within the same budget.
    isSending = true
    defer { isSending = false }
    guard !connection.isClosed else { return }
    defer {
      noteDeadline()
      // Streams that were reset are free once that has gone out.
      if !connection.isClosed { tellRoom() }
    }
    if written < outgoing.count, !flushRest() { return }
    // By the turn, and not by the call: what has come free in a turn is seen to in it, and flushes once more.
    if budgetedAt != engine.now { refill() }
    var goesOn = true
    while goesOn, budget > 0, !connection.isClosed, connection.link.acceptsWrites, admitUnsent() {
      goesOn = engine.context.withSendingSpace { space in
        let count = gather(into: space)
        // A read costs a call, however little comes: records of a byte each must not hold the turn.
        budget -= max(count, 1024)
        return count > 0 && !connection.isClosed && send(UnsafeRawBufferPointer(rebasing: space[..<count]))
      }
    }
    if connection.isClosed { return }
    if session.wantsClose, written == outgoing.count { return drop() }
    // Where more is left than a turn's, its descriptor brings the next turn.
    connection.watch(read: true, write: written < outgoing.count || budget <= 0 || !connection.link.acceptsWrites)
  }

  private func refill() {
    budget = Self.turnBytes
    budgetedAt = engine.now
  }

  private func noteDeadline() {
    guard !connection.isClosed, let deadline = session.deadline else { return delivery = nil }
    if delivery == nil { delivery = connection.delivery(now: engine.now) }
    engine.noteTick(Int64(clamping: deadline))
  }

  /// Asks the kernel what has become of the bytes that were written, an unanswered PING among them.
  private func lookAtOutput() -> HTTP2Liveness.Output {
    guard let earlier = delivery, let found = connection.delivery(now: engine.now) else { return .stuck }
    delivery = found
    if found.queued == 0, written == outgoing.count { return .delivered }
    return found.hasMoved(since: earlier) ? .moving : .stuck
  }

  /// Gathers frames until there are no more, or no more room. What goes out makes exchanges ask their sources.
  private func gather(into space: UnsafeMutableRawBufferPointer) -> Int {
    hasNews = false
    return session.fill(space, inRecords: connection.facts.hasTLS, now: now) {
      perform(nil)
      defer { hasNews = false }
      return hasNews
    }
  }

  /// False: the peer takes no more now, or nothing more at all.
  private func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var sent = 0
    while sent < bytes.count {
      switch connection.send(UnsafeRawBufferPointer(rebasing: bytes[sent...])) {
      case .moved(let count): sent += count
      case .failed:
        if sent > 0 { noteSent() }
        breakOff()
        return false
      case .wait, .end:
        owesHeads = !unsent.isEmpty
        if sent > 0 { noteSent() }
        outgoing = Array(bytes[sent...])
        written = 0
        return false
      }
    }
    noteSent()
    return true
  }

  /// Sends the rest of what was gathered before. False: not all of it.
  private func flushRest() -> Bool {
    // Heads may be among it: none goes out once nothing more may be sent.
    if owesHeads, !connection.link.isCurrent {
      end(nil)
      return false
    }
    while written < outgoing.count {
      switch outgoing.withUnsafeBytes({ connection.send(UnsafeRawBufferPointer(rebasing: $0[written...])) }) {
      case .moved(let count):
        written += count
        noteSent()
      case .failed:
        breakOff()
        return false
      case .wait, .end:
        connection.watch(read: true, write: true)
        return false
      }
    }
    outgoing = []
    written = 0
    return true
  }

  /// A write failed. What the server said before it went is read first: there may be answers.
  private func breakOff() {
    let error = connection.link.failure
    // Memory of its own: another connection's bytes may be under way in the loop's.
    let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 * HTTPConnection.recordBytes, alignment: 16)
    defer { space.deallocate() }
    read(into: space, isLast: true)
    end(error)
  }

  /// Heads have gone out.
  private func noteSent() {
    guard !unsent.isEmpty else { return }
    unsent.removeAll { $0.noteSentHead() }
  }

  /// Asks whether heads may go out. False: the connection sends nothing more now.
  private func admitUnsent() -> Bool {
    guard !unsent.isEmpty else { return true }
    switch connection.admit() {
    case .admitted(let verdict):
      for call in unsent { call.exchange.wasAdmitted(verdict) }
    case .outdated:
      for call in unsent {
        call.leave(nil)
        call.exchange.rewind()
        host.restart(call.exchange, orFail: .unsteadyTrust)
      }
      retire()
    case .refused(let error):
      for call in unsent { host.conclude(call.exchange, error) }
    }
    return true
  }

  // MARK: Time, and the end

  func tick(now: Int64) {
    guard !connection.isClosed, let deadline = session.deadline else { return }
    if Int64(clamping: deadline) > now { return noteDeadline() }
    session.tick(now: UInt64(clamping: now), output: lookAtOutput())
    perform(nil)
    noteOutput()
  }

  /// Ends it in order, once it has no streams.
  func close() {
    guard !connection.isClosed else { return }
    session.close()
    perform(nil)
    refill()
    flush()
    if !connection.isClosed { drop() }
  }
}
