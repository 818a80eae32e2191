// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroHTTP2
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One job on a stream of an HTTP/2 connection.
///
/// Owner: ``HTTP2Connection``, under its lock.
final class HTTP2Run {
  enum Outcome {
    case answered
    case failed(TransportError)
    /// The server has not processed the request, which goes out again on another connection.
    case again
  }

  private static let pieceBytes = 16 * 1024
  /// The most times that a request is sent again after the server said that it had not processed it.
  private static let mostRefusals = 3
  /// The longest time for which a server may take nothing of a request whose response is complete.
  private static let restTime = Duration.seconds(5)

  let job: ExchangeJob
  let receiver: AnswerReceiver
  let stream: HTTP2Stream
  private let session: HTTP2Session
  private let isReused: Bool
  private let headBytes: Int
  private var upload: UploadSource
  /// Bytes of the upload that the session had no room for.
  private var unsent = Data()
  private var sendingPaused = false
  private var mayUpload: Bool
  /// What came and was not taken: the reader is slow. At most the stream's window.
  private var held = Data()
  /// Whether the answer is whole, but for what is held.
  private var isWhole = false
  /// Whether the stream is over on the wire.
  private(set) var isClosed = false
  private(set) var outcome: Outcome?
  /// Whether the connection will look at what came of it.
  var isTouched = false
  private var sentBytes: Int64 = 0
  private let startedAt: Duration
  private var firstByteAt: Duration?
  private var lastActivity: Duration
  /// Bytes of the body that were handed to the connection; `nil` before the head was.
  private var handedOut: Int64?
  private var patienceEndsAt: Duration?
  /// The time at which the rest of the request is looked at, once the response is complete.
  private var restDueAt: Duration?
  /// Bytes of the body that had gone out when the rest was looked at last.
  private var restSentBytes: Int64 = 0
  private let connectionFacts: TransferFacts

  init(
    _ job: ExchangeJob, _ stream: HTTP2Stream, of session: HTTP2Session, _ request: HTTP2Request, isReused: Bool,
    facts: TransferFacts, _ effects: Effects
  ) {
    self.job = job
    self.stream = stream
    self.session = session
    self.isReused = isReused
    headBytes = request.fields.byteCount
    connectionFacts = facts
    receiver = AnswerReceiver(job, effects)
    upload = UploadSource(job)
    mayUpload = !job.request.body.isEmpty
    startedAt = job.settings.time.now()
    lastActivity = startedAt
  }

  private var now: Duration { job.settings.time.now() }

  func start() {
    upload.start()
    fill()
  }

  // MARK: Sending

  /// Frames are about to go out. From its head on, the server may process the request.
  ///
  /// - Returns: whether some of them are of this stream.
  func noteSending() -> Bool {
    guard session.requestPhase(of: stream) != .queued else { return false }
    job.noteSent()
    let sent = session.sentBytes(on: stream) ?? 0
    guard sent != handedOut else { return false }
    handedOut = sent
    lastActivity = now
    return true
  }

  /// The frames have been written.
  func noteWritten() { lastActivity = now }

  /// Gives the session as much of the body as it has room for.
  func fill() {
    guard mayUpload, outcome == nil else { return }
    if unsent.isEmpty, session.room(on: stream) == 0 { return }
    while mayUpload {
      if unsent.isEmpty, !takeNext() { break }
      let taken = unsent.withUnsafeBytes { session.provide($0, on: stream) }
      if taken > 0 { lastActivity = now }
      unsent = taken == unsent.count ? Data() : Data(unsent.dropFirst(taken))
      if !unsent.isEmpty { break }
    }
    receiver.noteSending(upload.offset - Int64(unsent.count))
    if let error = upload.failureAtEnd, !isRefused { fail(error) }
  }

  /// False: there is nothing to send at the moment, or ever.
  private func takeNext() -> Bool {
    switch upload.next(upTo: Self.pieceBytes) {
    case .bytes(let bytes):
      unsent = bytes
      return true
    case .end:
      mayUpload = false
      endBody()
      return false
    case .wait:
      sendingPaused = true
      return false
    case .failed(let error):
      mayUpload = false
      fail(error)
      return false
    }
  }

  private func endBody() {
    do throws(TransportError) {
      session.endBody(stream, trailers: try HTTP2Fields(trailers: upload.trailers))
    } catch {
      fail(error.afterSending)
    }
  }

  func resumeSending() {
    guard outcome == nil else { return }
    if isWhole { return finish() }
    if sendingPaused { lastActivity = now }
    sendingPaused = false
    fill()
  }

  /// The server refuses while the request is sent: no more of it is.
  func stopBody() {
    mayUpload = false
    sendingPaused = false
    unsent = Data()
  }

  // MARK: Receiving

  func noteMovement() {
    lastActivity = now
    if firstByteAt == nil { firstByteAt = lastActivity }
  }

  func received(interim head: ResponseHead) {
    noteMovement()
    receiver.tell(interim: head)
  }

  func received(trailers: [ResponseHead.Field]) { receiver.take(trailers: trailers) }

  func received(_ head: ResponseHead, _ heads: inout HTTP2HeadMemory) {
    noteMovement()
    guard outcome == nil else { return }
    do throws(TransportError) {
      let (response, framing) = try heads.response(head)
      let isSent = job.request.body.isEmpty || job.request.body.length == upload.offset
      guard try receiver.take(head, as: response, framing, isSent: isSent, facts: facts) else { return finish() }
      if receiver.drops {
        patienceEndsAt = now + .seconds(1)
      } else if receiver.isErrorAnswer, let limit = job.settings.errorBodyTime {
        patienceEndsAt = now + min(limit, job.expiresAt.map { ($0 - now) / 2 } ?? limit)
      }
    } catch {
      fail(error)
    }
  }

  func received(_ bytes: UnsafeRawBufferPointer) {
    noteMovement()
    guard outcome == nil else { return }
    if !held.isEmpty || receiver.isPaused || !hand(bytes) { held.append(contentsOf: bytes) }
  }

  /// False: the reader is slow, and the bytes are handed over again.
  private func hand(_ bytes: UnsafeRawBufferPointer) -> Bool {
    do throws(TransportError) {
      switch try receiver.take(body: bytes) {
      case .taken:
        receiver.wireBytes += Int64(bytes.count)
        session.consumed(bytes.count, on: stream)
      case .full: return false
      case .refused: receiver.wasCut ? finish() : fail(receiver.failure ?? .bodyBeforeHead)
      }
    } catch {
      fail(error)
    }
    return true
  }

  func resumeReceiving() {
    guard outcome == nil, receiver.isPaused else { return }
    receiver.isPaused = false
    lastActivity = now
    handHeld()
  }

  private func handHeld() {
    let bytes = held
    held = Data()
    if !bytes.isEmpty, !bytes.withUnsafeBytes(hand) { held = bytes }
    if isWhole, !receiver.isPaused { finish() }
  }

  func readerLeft() { conclude(.failed(.cancelled(requestSent: true))) }

  // MARK: The end

  /// The response is complete, and the request is not. The rest of it goes out, as over HTTP/1.1, until the server
  /// resets the stream (RFC 9113 §8.1) or takes no more of it.
  func answered() {
    restSentBytes = session.sentBytes(on: stream) ?? 0
    restDueAt = now + Self.restTime
  }

  /// Ends the exchange if the server has taken nothing of the rest since the last look, though there was something.
  private func lookAtRest(_ now: Duration) {
    let sent = session.sentBytes(on: stream) ?? 0
    if sent > restSentBytes || sendingPaused && sent == upload.offset {
      restSentBytes = sent
      lastActivity = now
      restDueAt = now + Self.restTime
      return
    }
    restDueAt = nil
    stopBody()
    whole()
  }

  func closed(_ ending: HTTP2Ending, reason: TransportError?) {
    isClosed = true
    restDueAt = nil
    guard outcome == nil else { return }
    stopBody()
    switch ending {
    case .whole: whole()
    case .unprocessed(let cause): unprocessed(cause)
    case .lost where receiver.response == nil && mayGoAgain: again(isUnprocessed: false)
    default:
      let error = ending.transportError(hasResponse: receiver.response != nil, requestSent: job.wasSent) {
        lostConnection(reason)
      }
      fail(error)
    }
  }

  private func whole() {
    isWhole = true
    if !receiver.isPaused, held.isEmpty { finish() }
  }

  private func unprocessed(_ cause: HTTP2Unprocessed) {
    if cause == .unsent {
      // A server that ends each connection before a request goes out is not dialed for ever. Of a source, some may have
      // been read although nothing was sent.
      if upload.canRewind, job.noteRestart() <= ConnectionPool.mostRestarts { return conclude(.again) }
    } else if job.resends < Self.mostRefusals, upload.canRewind, !job.isOver {
      return again(isUnprocessed: true)
    }
    var error = TransportError(cause)
    error.requestSent = false
    fail(error)
  }

  /// A connection that has served before may have been closed by a server that has not seen this request.
  private var mayGoAgain: Bool {
    isReused && job.resends == 0 && !job.isOver && upload.canRewind && job.request.allowsResend
  }

  private func again(isUnprocessed: Bool) {
    job.noteResend(isUnprocessed: isUnprocessed)
    conclude(.again)
  }

  private func finish() {
    guard outcome == nil else { return }
    if !receiver.wasCut {
      do throws(TransportError) { try receiver.endBody() } catch { return fail(error) }
      if let error = upload.failureAtEnd, !isRefused { return fail(error) }
      if upload.awaitsEnd, !isRefused {
        isWhole = true
        return
      }
    }
    conclude(.answered)
  }

  private var isRefused: Bool { receiver.isErrorAnswer || receiver.wasCut }

  func fail(_ error: TransportError) {
    guard let error = receiver.weigh(error) else { return conclude(.answered) }
    conclude(.failed(error))
  }

  /// Whether the answer is whole, so that what is left of the request is not sent for a good reason.
  var isAnswered: Bool { isWhole }

  func conclude(_ outcome: Outcome) {
    guard self.outcome == nil else { return }
    sentBytes = Int64(headBytes) + (session.sentBytes(on: stream) ?? upload.offset)
    self.outcome = outcome
  }

  /// Answers the job, once the outcome is known.
  func report() {
    var failure: TransportError?
    if case .failed(let error) = outcome { failure = error }
    let facts = facts()
    receiver.noteEnd(sent: upload.offset, facts)
    receiver.report(failure, facts: facts)
  }

  /// - Parameter reason: why the connection ended, where that is known better than by HTTP/2.
  private func lostConnection(_ reason: TransportError?) -> TransportError {
    switch reason?.code {
    case nil, .truncatedStream, .streamClosed, .sendFailed:
      if receiver.response != nil { return HeadViolation.endsInBody.transportError }
      return isReused ? .closedAfterSending : HeadViolation.endsInHead.transportError
    case .receiveFailed:
      var error: TransportError = receiver.response != nil ? .resetInBody : .resetBeforeAnswer
      error.systemCode = reason?.systemCode
      return error
    default: return reason ?? .resetBeforeAnswer
    }
  }

  func facts() -> TransferFacts {
    var facts = receiver.facts(connectionFacts, from: startedAt, firstByteAt: firstByteAt)
    facts.httpVersion = receiver.response == nil && firstByteAt == nil ? nil : "2"
    facts.bytesSent = sentBytes > 0 ? sentBytes : Int64(headBytes) + (session.sentBytes(on: stream) ?? 0)
    return facts
  }

  // MARK: Time

  var due: Duration? {
    guard outcome == nil else { return nil }
    let waitsForUs = receiver.isPaused || (sendingPaused && receiver.response == nil)
    let idle = waitsForUs ? nil : job.request.idleTimeout.map { lastActivity + $0 }
    return [job.expiresAt, patienceEndsAt, restDueAt, idle].compactMap(\.self).min()
  }

  /// - Returns: whether its time was over without a sign of the server.
  func check(_ now: Duration) -> Bool {
    guard outcome == nil else { return false }
    if let patienceEndsAt, now >= patienceEndsAt {
      receiver.cutLate()
      finish()
      return false
    }
    let isIdle = job.expiresAt.map { now < $0 } ?? true
    if isIdle, let restDueAt, now >= restDueAt {
      lookAtRest(now)
      return false
    }
    guard let due, now >= due else { return false }
    let place: TransferPlace =
      isWhole ? .sourceOpen : receiver.response != nil ? .body : job.wasSent ? .response : .unsent
    conclude(.failed(.late(isIdle: isIdle, place, of: job.request)))
    return true
  }
}
