// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One job on a connection of HTTP/1.1: an ``HTTP1Exchange``, fed with what the connection reads and writes.
///
/// Owner: ``HTTP1Connection``, under its lock.
final class HTTP1Run {
  /// What becomes of the connection.
  enum Outcome {
    case reusable
    case closed
    /// The stream is the caller's: after 101, or 2xx to CONNECT.
    case handedOver
    /// The connection ended without having served the request, which goes out again on another.
    case again
  }

  private static let pieceBytes = 64 * 1024
  /// A body in memory that goes out with the head, in one write.
  private static let joinedBytes = 16 * 1024
  /// The longest that the rest of a body is read for its connection's sake.
  private static let drainTime = Duration.seconds(1)

  let job: ExchangeJob
  let receiver: AnswerReceiver
  unowned let connection: HTTP1Connection
  let isReused: Bool
  var machine: HTTP1Exchange
  var upload: UploadSource
  /// What goes out next.
  var outgoing: Data
  var isWriting = false
  /// Whether the source of the body has nothing at the moment.
  var sendingPaused = false
  /// Whether the answer is complete, and only the end of the upload's source is waited for.
  var isDelivered = false
  var timer: HTTP1Exchange.Timer?
  var timerAt: Duration?
  /// Until then the body of a refusal is read.
  var patienceEndsAt: Duration?
  var sentBytes: Int64 = 0
  var version: String?
  let startedAt: Duration
  var firstByteAt: Duration?
  var lastActivity: Duration
  private(set) var outcome: Outcome?

  init(
    _ job: ExchangeJob, on connection: HTTP1Connection, isReused: Bool, _ heads: HeadMemory,
    _ common: inout CommonFields, _ effects: Effects
  ) throws(TransportError) {
    self.job = job
    self.connection = connection
    self.isReused = isReused
    var writer = RequestWriter()
    let request = try HTTP1Request(job.request, &common, mayExpect: connection.host.mayExpect, with: &writer)
    machine = HTTP1Exchange(
      request.framing, to: job.asks, expectsContinue: request.expectsContinue, asksToClose: request.asksToClose,
      limits: job.settings.limits, resembling: heads.latest)
    receiver = AnswerReceiver(job, effects)
    upload = UploadSource(job)
    outgoing = writer.withBytes { Data($0) }
    startedAt = job.settings.time.now()
    lastActivity = startedAt
  }

  var now: Duration { job.settings.time.now() }

  func start() {
    machine.started()
    upload.start()
    if machine.writing == .body, upload.isInMemory, (job.request.body.length ?? .max) <= Self.joinedBytes {
      fill(Self.joinedBytes)
    }
    settle()
  }

  // MARK: Sending

  var hasOutput: Bool { !outgoing.isEmpty && !isWriting && outcome == nil }

  /// What is to be written. Its writer cannot tell how much of it a failed write took.
  func takeOutput() -> Data {
    defer { outgoing = Data() }
    isWriting = true
    machine.wroteSome()
    job.noteSent()
    return outgoing
  }

  func wrote(_ count: Int) {
    isWriting = false
    sentBytes += Int64(count)
    lastActivity = now
    if outgoing.isEmpty { pump() }
    settle()
  }

  func writeFailed() {
    isWriting = false
    outgoing = Data()
    machine.writeFailed()
    settle()
  }

  /// All that was queued is out.
  func pump() {
    guard machine.writing == .body else { return machine.wroteAll() }
    fill(Self.pieceBytes)
    if outgoing.isEmpty, machine.writing == .flushing { machine.wroteAll() }
  }

  /// Queues the next piece of the body.
  private func fill(_ maximum: Int) {
    guard receiver.failure == nil else { return }
    do throws(HTTP1Failure) {
      var room = maximum
      while room > 0, machine.writing == .body {
        switch upload.next(upTo: room) {
        case .bytes(let bytes):
          try queue(bytes)
          room -= bytes.count
        case .end:
          if let end = try machine.sourceEnded(upload.trailers) { outgoing += end }
        case .wait:
          sendingPaused = true
          room = 0
        case .failed(let error): return receiver.failure = error
        }
      }
      receiver.noteSending(upload.offset)
      if let error = upload.failureAtEnd, !isRefused { receiver.failure = error }
    } catch {
      receiver.failure = transportError(error)
    }
  }

  private func queue(_ bytes: Data) throws(HTTP1Failure) {
    var rest = bytes
    while !rest.isEmpty, let piece = try machine.sourceGave(rest.count) {
      piece.withPrefix { outgoing.append(contentsOf: $0) }
      outgoing.append(rest.prefix(piece.count))
      if piece.isChunk { outgoing.append(contentsOf: [0x0D, 0x0A]) }
      rest = rest.dropFirst(piece.count)
    }
  }

  /// The source has more, or has ended.
  func resumeSending() {
    guard outcome == nil else { return }
    if isDelivered { return settle() }
    if sendingPaused {
      sendingPaused = false
      lastActivity = now
      if outgoing.isEmpty, !isWriting { pump() }
    } else if let error = upload.failureAtEnd, !isRefused {
      receiver.failure = error
    }
    settle()
  }

  // MARK: Receiving

  var isPaused: Bool { receiver.isPaused }
  /// Whether HTTP has ended on the connection: what comes is the caller's.
  var isTunnel: Bool { machine.connection == .handedOver }

  /// Bytes came.
  ///
  /// - Returns: how many were used; the rest is to be given again once the reader has room.
  func receive(_ bytes: UnsafeRawBufferPointer, _ heads: inout HeadMemory) -> Int {
    lastActivity = now
    if firstByteAt == nil { firstByteAt = lastActivity }
    var position = 0
    do throws(HTTP1Failure) {
      try read(bytes, &position, &heads)
      if machine.writing == .body, outgoing.isEmpty, !isWriting, !sendingPaused { pump() }
      settle()
    } catch {
      fail(error)
    }
    return position
  }

  private func read(
    _ bytes: UnsafeRawBufferPointer, _ position: inout Int, _ heads: inout HeadMemory
  ) throws(HTTP1Failure) {
    while receiver.failure == nil {
      switch try machine.next(in: bytes, at: &position, now: UInt64(clamping: lastActivity.wholeNanoseconds)) {
      case .needsMore: return
      case .interim(let head): receiver.tell(interim: head)
      case .head(let head): take(head, &heads)
      case .body(let count):
        let part = UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
        switch deliver(part) {
        case .taken:
          machine.take(count)
          receiver.wireBytes += Int64(count)
          position += count
        case .full, .refused: return
        }
      case .end: return receiver.take(trailers: machine.trailers)
      case .tunnel: return
      }
      if receiver.wasCut { return }
    }
  }

  private func take(_ head: ResponseHead, _ heads: inout HeadMemory) {
    version = head.version.minor == 0 ? "1.0" : "1.1"
    connection.host.learn(machine)
    do throws(TransportError) {
      let response = try heads.response(head, known: machine.takeKnown())
      if head.status == 417, !job.request.body.isEmpty {
        return receiver.cutAtHead(response, machine.responseFraming)
      }
      let isSent = job.request.body.isEmpty || job.request.body.length == upload.offset
      guard try receiver.take(head, as: response, machine.responseFraming, isSent: isSent, facts: facts) else { return }
      limitPatience()
    } catch {
      receiver.failure = error
    }
  }

  /// What is read for the status' sake, or the connection's, may not take long.
  private func limitPatience() {
    if receiver.drops {
      patienceEndsAt = now + Self.drainTime
    } else if receiver.isErrorAnswer, let limit = job.settings.errorBodyTime {
      // Half of what is left, so that the status is told before the deadline passes.
      patienceEndsAt = now + min(limit, job.expiresAt.map { ($0 - now) / 2 } ?? limit)
    }
  }

  private func deliver(_ part: UnsafeRawBufferPointer) -> BodyVerdict {
    do {
      return try receiver.take(body: part)
    } catch {
      receiver.failure = error
      return .refused
    }
  }

  /// The reader has taken what lay there.
  func resumeReceiving() {
    receiver.isPaused = false
    lastActivity = now
  }

  /// The server has ended its direction.
  func connectionEnded(cleanly: Bool) {
    do throws(HTTP1Failure) {
      _ = try machine.connectionEnded(cleanly: cleanly)
      settle()
    } catch {
      fail(error)
    }
  }

  /// Reading has failed.
  func receivingFailed(_ reason: TransportError) {
    do throws(HTTP1Failure) {
      _ = try machine.connectionEnded(cleanly: false)
      settle()
    } catch {
      switch reason.code {
      case .receiveFailed:
        var lost = error.kind == .truncated ? TransportError.resetInBody : .resetBeforeAnswer
        lost.systemCode = reason.systemCode
        lost.requestSent = job.wasSent
        fail(error, lost)
      case .truncatedStream, .streamClosed: fail(error)
      default: fail(error, reason)
      }
    }
  }

  /// The reader of the body has left.
  func readerLeft() {
    receiver.drop()
    machine.readerLeft()
    settle()
    if outcome == nil, machine.timer != .drain { conclude(.cancelled(requestSent: true)) }
  }

  // MARK: The end

  /// Whether the server answered without wanting what is sent: whether the source ends well does not matter then.
  private var isRefused: Bool { receiver.isErrorAnswer || receiver.wasCut }

  /// Acts on what the machine has become.
  func settle() {
    guard outcome == nil else { return }
    if machine.writing == .stopped || machine.writing == .broken {
      outgoing = Data()
      sendingPaused = false
    }
    noteTimer()
    if let failure = receiver.failure { return conclude(receiver.weigh(failure)) }
    if isTunnel {
      // A write that the server has answered may not have returned yet: until then the stream is busy.
      if !isWriting { conclude(nil) }
      return
    }
    if receiver.wasCut { return conclude(nil) }
    guard machine.connection != .inUse else { return }
    guard machine.reading == .complete else { return conclude(.cancelled(requestSent: true)) }
    if let error = upload.failureAtEnd, !isRefused { return conclude(error) }
    isDelivered = upload.awaitsEnd && !isRefused
    if isDelivered { return }
    do throws(TransportError) {
      try receiver.endBody()
      conclude(nil)
    } catch {
      conclude(receiver.weigh(error))
    }
  }

  func fail(_ failure: HTTP1Failure, _ reason: TransportError? = nil) {
    if failure.kind == .lostBeforeFirstByte, mayGoAgain {
      if job.wasSent { job.noteResend() }
      return outcome = .again
    }
    conclude(receiver.weigh(receiver.failure ?? reason ?? transportError(failure)))
  }

  /// A connection that has served before may have been closed by a server that has not seen this request (RFC 9112
  /// §9.3.1). It goes out again where that can do no harm.
  private var mayGoAgain: Bool {
    guard isReused, job.resends == 0, !job.isOver, upload.canRewind else { return false }
    return !job.wasSent || job.request.allowsResend
  }

  private func transportError(_ failure: HTTP1Failure) -> TransportError {
    var error =
      failure.kind == .lostBeforeFirstByte && isReused && job.wasSent ? .closedAfterSending : failure.transportError()
    error.requestSent = job.wasSent
    return error
  }

  func conclude(_ failure: TransportError?) {
    guard outcome == nil else { return }
    if machine.connection == .handedOver, failure == nil {
      outcome = .handedOver
    } else if machine.connection == .reusable, failure == nil || receiver.response != nil {
      outcome = .reusable
    } else {
      outcome = .closed
    }
    self.failure = failure
  }

  private(set) var failure: TransportError?

  /// Answers the job, once the outcome is known.
  ///
  /// - Parameter upgraded: the stream, where it is the caller's.
  func report(upgraded: (any ByteStream)? = nil) {
    let facts = facts()
    receiver.noteEnd(sent: upload.offset, facts)
    receiver.report(failure, facts: facts, upgraded: upgraded)
  }
}
