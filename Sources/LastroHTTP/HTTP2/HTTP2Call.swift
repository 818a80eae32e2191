// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP2
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A job that one HTTP/2 stream carries.
final class HTTP2Call: Exchange {
  private(set) var connection: HTTP2Multiplexer?
  /// `nil` once it is over: what is left is handed on without it.
  private(set) var stream: HTTP2Stream?
  /// The bytes of a coded body that a slow reader has not taken; at most the stream's window.
  private var held: [UInt8] = []
  /// Bytes that lie with the reader, and that the server may not send again before they are read.
  private var unread = 0
  /// Whether the answer is whole, but for what is held.
  private var isWhole = false
  private var headBytes: Int64 = 0
  /// The longest time for which a server may take nothing of a request whose response is complete.
  private static let restTime = Duration.seconds(1)
  /// The time at which the rest of the request is looked at, once the response is complete; `.max` before.
  private var restDueAt = Int64.max
  /// Bytes of the body that had gone out when the rest was looked at last.
  private var restSentBytes: Int64 = 0
  /// The number of looks since then. On a slow line the bytes that have gone out may take a while to arrive.
  private var restLooks = 0
  private static let mostRestLooks = 5

  // MARK: Beginning

  /// Opens a stream on a connection. The head goes out at the end of the turn, if that may be.
  func start(on connection: HTTP2Multiplexer) -> Start {
    lastActivity = clock.now
    let request: HTTP2Request
    do throws(TransportError) {
      request = try HTTP2Request(
        job.request, userAgent: limits.userAgent, sendsAccept: limits.sendsAccept, decompresses: limits.decompresses)
    } catch {
      return .failed(error)
    }
    guard let stream = connection.open(request.fields, request.body, for: self) else { return .outdated }
    self.connection = connection
    self.stream = stream
    headBytes = Int64(request.fields.byteCount)
    state = .running
    job.upload?.start { [weak job] in job?.resumeSending() }
    return .running
  }

  /// Whether the head has gone out.
  func noteSentHead() -> Bool {
    guard let stream, let connection, connection.session.requestPhase(of: stream) != .queued else {
      return stream == nil
    }
    requestSent = true
    sentBytes = headBytes
    sentAt = clock.now
    lastActivity = clock.now
    job.noteSent()
    return true
  }

  // MARK: Receiving

  func noteMovement() {
    lastActivity = clock.now
    if firstByteAt == nil { firstByteAt = lastActivity }
  }

  /// The final head came.
  func received(_ head: ResponseHead) {
    noteMovement()
    guard let connection else { return }
    version = "2"
    do throws(TransportError) {
      let (response, framing) = try connection.heads.response(head)
      note(response, framing)
      if sendingPaused { noteActivity() }
      if try !take(response, of: head, framing) { return stopReading() }
      limitPatience()
    } catch {
      conclude(error)
    }
  }

  /// A piece of the body came.
  func received(_ bytes: UnsafeRawBufferPointer) {
    noteMovement()
    if !held.isEmpty || receivingPaused && decoder != nil || !hand(bytes) { held += bytes }
  }

  override var isBounded: Bool { true }

  /// False: the reader is slow, and the bytes are handed over again.
  private func hand(_ bytes: UnsafeRawBufferPointer) -> Bool {
    do throws(TransportError) {
      switch try take(body: bytes) {
      case .taken:
        bodyBytes += Int64(bytes.count)
        unread += bytes.count
        if !receivingPaused { giveCredit() }
      case .full: return false
      case .refused: stopReading()
      }
    } catch {
      conclude(error)
    }
    return true
  }

  /// The server may send again what the reader took.
  private func giveCredit() {
    if let stream { connection?.session.consumed(unread, on: stream) }
    unread = 0
  }

  override func resumeReceiving() {
    guard state == .running, receivingPaused else { return }
    receivingPaused = false
    noteActivity()
    giveCredit()
    let bytes = held
    held = []
    if !bytes.isEmpty, !bytes.withUnsafeBytes(hand) { held = bytes }
    connection?.noteOutput()
    if isWhole, state == .running, !receivingPaused { finish() }
  }

  override func noteDrain() { host.engine.noteExpiry(expiresAt) }

  /// The rest of the answer is not wanted: the exchange ends with what there is.
  private func stopReading() {
    if wasCut { finish() } else { conclude(failure ?? .noMemoryForBody) }
  }

  // MARK: The end

  /// The response is complete, and the request is not. The rest of it goes out, as over HTTP/1.1, until the server
  /// resets the stream (RFC 9113 §8.1) or takes no more of it.
  func answered() {
    guard let stream else { return }
    restSentBytes = connection?.session.sentBytes(on: stream) ?? 0
    waitForRest()
  }

  private func waitForRest() {
    restDueAt = clock.now.adding(Self.restTime)
    host.engine.noteExpiry(expiresAt)
  }

  /// Ends the exchange if the server has taken nothing of the rest since the last look, though there was something.
  private func lookAtRest() {
    guard let stream, let connection else { return }
    let sent = connection.session.sentBytes(on: stream) ?? 0
    if sent > restSentBytes || sendingPaused && sent == Int64(uploadOffset) {
      restSentBytes = sent
      restLooks = 0
      lastActivity = clock.now
      return waitForRest()
    }
    restLooks += 1
    if restLooks < Self.mostRestLooks, connection.connection.unacknowledgedBytes > 0 { return waitForRest() }
    restDueAt = .max
    resetStream(.noError)
    whole()
  }

  /// The stream is over.
  func closed(_ ending: HTTP2Ending) {
    sentBytes = headBytes + Int64(uploadOffset)
    stream = nil
    restDueAt = .max
    switch ending {
    case .whole: whole()
    case .unprocessed(let reason): unprocessed(reason, ending)
    case .lost where response == nil && host.sendAgain(self, isUnprocessed: false): break
    default: conclude(transportError(ending))
    }
  }

  private func whole() {
    isWhole = true
    if !receivingPaused || decoder == nil { finish() }
  }

  private func unprocessed(_ reason: HTTP2Unprocessed, _ ending: HTTP2Ending) {
    // Of a source, some may have been read although nothing was sent.
    if reason == .unsent, job.upload == nil || uploadOffset == 0 {
      return host.restartLater(self, orFail: TransportError(reason))
    }
    if reason == .http11Required { host.noteHTTP1Required() }
    if reason != .unsent, host.sendAgain(self, isUnprocessed: true) { return }
    requestSent = false
    conclude(transportError(ending))
  }

  override func resumeSending() {
    guard state == .running else { return }
    if isDelivered { return finish() }
    if let error = failureOfSourceAtEnd { return host.conclude(self, error) }
    goOnSending()
  }

  override func finish() {
    if !wasCut {
      do throws(TransportError) { try decoder?.end() } catch { return conclude(error) }
    }
    if let error = failureOfSourceAtEnd { return conclude(error) }
    isDelivered = !wasCut && awaitsSourceEnd
    if isDelivered { return }
    host.conclude(self, nil)
  }

  private func conclude(_ error: TransportError) { host.conclude(self, weigh(error)) }

  private func resetStream(_ code: LastroHTTP2.HTTP2ErrorCode) {
    guard let stream, let connection else { return }
    sentBytes = headBytes + (connection.session.sentBytes(on: stream) ?? 0)
    self.stream = nil
    connection.close(stream, code)
  }

  override func leave(_ failure: TransportError?) {
    resetStream(.cancel)
    held = []
  }

  override func rewind() {
    super.rewind()
    connection = nil
    held = []
    unread = 0
    isWhole = false
    restDueAt = .max
  }

  override var wire: HTTPConnection? { connection?.connection }

  // MARK: Deadlines

  override var expiresAt: Int64 { min(super.expiresAt, restDueAt) }

  override func expire(now: Int64) {
    if now >= restDueAt, now < job.expiresAt { return lookAtRest() }
    super.expire(now: now)
  }

  override var isAlone: Bool { connection?.isAlone ?? true }

  override var handedOutAt: Int64 {
    guard let stream, let time = connection?.session.lastSent(on: stream) else { return .min }
    return Int64(clamping: time)
  }

  override func timeOut(now: Int64) {
    if stream != nil, let connection, drainsUntil == nil, requestSent {
      connection.doubt(isSilent: isSilent(connection, now: now))
    }
    super.timeOut(now: now)
  }

  /// Whether nothing came of the server, as far as this exchange can tell.
  private func isSilent(_ connection: HTTP2Multiplexer, now: Int64) -> Bool {
    if response == nil { return true }
    guard let limit = job.request.idleTimeout else { return false }
    return now >= connection.heardAt.adding(limit)
  }
}
