// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// An exchange on an HTTP/2 stream.
///
/// Owner: its ``HTTP2Multiplexer`` while the stream is open, and the exchange. Thread: the loop's.
final class HTTP2Call: ExchangeRunner {
  /// The time between looks at the rest of a request whose response is complete. The exchange ends if the server has
  /// accepted nothing of the rest since the last look, unless sent bytes are still unacknowledged.
  private static let restTime = Duration.seconds(1)
  private static let mostRestLooks = 5

  let exchange: Exchange
  let multiplexer: HTTP2Multiplexer
  /// The stream; `nil` once it has ended. Bytes that are left are delivered without it.
  private(set) var stream: HTTP2Stream?
  private let headBytes: Int64
  /// The received bytes of a body with a content coding that a slow reader has not taken; at most the stream's window.
  private var held: [UInt8] = []
  /// The number of delivered bytes for which the server was given no new credit, because the reader has not taken them.
  private var unread = 0
  private var hasInterimResponse = false
  /// Whether the response is complete, apart from the held bytes.
  private var isWhole = false
  /// The time of the next look at the rest of the request, once the response is complete; `.max` before.
  private var restDueAt = Int64.max
  /// The number of bytes of the body that had been sent at the last look with progress.
  private var restSentBytes: Int64 = 0
  /// The number of looks without progress since then. On a slow line, bytes that were sent may take a while to arrive.
  private var restLooks = 0

  init(_ exchange: Exchange, on multiplexer: HTTP2Multiplexer, _ stream: HTTP2Stream, headBytes: Int64) {
    self.exchange = exchange
    self.multiplexer = multiplexer
    self.stream = stream
    self.headBytes = headBytes
    exchange.receiver.isBounded = true
  }

  var connection: HTTPConnection { multiplexer.connection }
  private var session: HTTP2Session { multiplexer.session }

  /// Records that the head was sent, if it has been by now.
  ///
  /// - Returns: whether no further check is needed: the head was sent, or the stream has ended.
  func recordSentHead() -> Bool {
    guard let stream, session.requestPhase(of: stream) != .queued else { return stream == nil }
    exchange.requestSent = true
    exchange.headGoesOut()
    exchange.sentBytes = headBytes
    exchange.wasActive()
    return true
  }

  /// Records how much of the request was sent: nothing if its head was not.
  private func recordSent(_ bodyBytes: Int64) { exchange.sentBytes = exchange.requestSent ? headBytes + bodyBytes : 0 }

  /// Sends a priority for the rest of the response.
  func setPriority(_ priority: RequestPriority) {
    guard let stream else { return }
    session.setPriority(priority.fieldValue, of: stream)
    multiplexer.scheduleFlush()
  }

  // MARK: Receiving

  func received(interim head: ResponseHead) {
    hasInterimResponse = true
    exchange.receivedBytes()
    exchange.received(interim: head)
  }

  /// Handles the final head.
  func received(_ head: ResponseHead) {
    exchange.receivedBytes()
    exchange.version = "2"
    do throws(TransportError) {
      let (response, framing) = try multiplexer.heads.response(head)
      if try !exchange.receive(response, of: head, framing) { exchange.finish() }
    } catch {
      exchange.fail(error)
    }
  }

  /// Handles a piece of the body.
  func received(_ bytes: UnsafeRawBufferPointer) {
    exchange.receivedBytes()
    if !held.isEmpty || exchange.receiver.isPaused && exchange.receiver.isDecoded || !hand(bytes) { held += bytes }
  }

  /// Delivers bytes; returns false if the reader is slow, and the same bytes must be delivered again.
  private func hand(_ bytes: UnsafeRawBufferPointer) -> Bool {
    do throws(TransportError) {
      switch try exchange.receive(body: bytes) {
      case .taken:
        exchange.receiver.wireBytes += Int64(bytes.count)
        unread += bytes.count
        if !exchange.receiver.isPaused { giveCredit() }
      case .full: return false
      case .refused: exchange.finish()
      }
    } catch {
      exchange.fail(error)
    }
    return true
  }

  /// Gives the server credit for as many bytes as the reader has taken.
  private func giveCredit() {
    if let stream { session.consumed(unread, on: stream) }
    unread = 0
  }

  func resumeReceiving() {
    giveCredit()
    let bytes = held
    held = []
    if !bytes.isEmpty, !bytes.withUnsafeBytes(hand) { held = bytes }
    multiplexer.scheduleFlush()
    if isWhole, exchange.isRunning, !exchange.receiver.isPaused { endResponse() }
  }

  func answeredAtHead() {}

  // MARK: The end

  /// Handles a response that is complete before the request is. The rest of the request is sent, as over HTTP/1.1,
  /// until the server resets the stream (RFC 9113 §8.1) or stops accepting it. If the response ends the request, the
  /// rest is dropped.
  func answered() {
    guard let stream else { return }
    if exchange.job.isTunnel { exchange.receiver.endStream(exchange.facts()) }
    if exchange.job.request.endsWithResponse {
      resetStream(.noError)
      return becameWhole()
    }
    restSentBytes = session.sentBytes(on: stream) ?? 0
    waitForRest()
  }

  private func waitForRest() {
    restDueAt = exchange.now.adding(Self.restTime)
    exchange.engine.scheduleCheck(of: exchange)
  }

  /// Ends the exchange if the server has accepted nothing of the rest since the last look, although bytes were
  /// available. While sent bytes are unacknowledged, it takes five such looks.
  private func lookAtRest() {
    guard let stream else { return }
    let sent = session.sentBytes(on: stream) ?? 0
    if sent > restSentBytes || exchange.upload.isPaused && sent == Int64(exchange.upload.offset) {
      restSentBytes = sent
      restLooks = 0
      exchange.wasActive()
      return waitForRest()
    }
    restLooks += 1
    if restLooks < Self.mostRestLooks, connection.unacknowledgedBytes > 0 { return waitForRest() }
    restDueAt = .max
    resetStream(.noError)
    becameWhole()
  }

  /// Handles the end of the stream.
  func closed(_ ending: HTTP2Ending) {
    recordSent(Int64(exchange.upload.offset))
    if case .lost(let loss) = ending { (multiplexer.connection.link as? TapedLink)?.noteLoss(loss, of: exchange) }
    stream = nil
    restDueAt = .max
    switch ending {
    case .whole: becameWhole()
    case .unprocessed(let reason): unprocessed(reason, ending)
    case .lost where mayBeUnseen && exchange.host.sendAgain(exchange, isUnprocessed: false): break
    default: exchange.fail(transportError(ending))
    }
  }

  /// Whether no head of a response has arrived, not even an interim one, which shows that the server has seen the
  /// request.
  private var mayBeUnseen: Bool { exchange.receiver.route.response == nil && !hasInterimResponse }

  private func becameWhole() {
    isWhole = true
    if !exchange.receiver.isPaused || !exchange.receiver.isDecoded { endResponse() }
  }

  private func endResponse() {
    do throws(TransportError) { try exchange.endBody() } catch { return exchange.fail(error) }
    exchange.finish()
  }

  private func unprocessed(_ reason: HTTP2Unprocessed, _ ending: HTTP2Ending) {
    let host = exchange.host
    // A source may have been read from although nothing was sent.
    if reason == .unsent, exchange.upload.canStartOver(exchange.job) {
      exchange.rewind()
      return host.restart(exchange, orFail: TransportError(reason))
    }
    if reason == .http11Required {
      // The caller repeats a handshake over HTTP/1.1. The server accepts the host's other requests as they are.
      if exchange.job.isTunnel {
        exchange.requestSent = false
        return exchange.fail(.unannouncedTunnel)
      }
      host.tell(.requiresHTTP1)
    }
    if reason != .unsent, host.sendAgain(exchange, isUnprocessed: true) { return }
    // The server has processed nothing, even if bytes were sent.
    exchange.requestSent = false
    exchange.fail(transportError(ending))
  }

  private func resetStream(_ code: LastroHTTP.HTTP2ErrorCode) {
    guard let stream else { return }
    recordSent(session.sentBytes(on: stream) ?? 0)
    self.stream = nil
    multiplexer.close(stream, code)
  }

  func leave(_ failure: TransportError?) {
    resetStream(.cancel)
    held = []
  }

  func detach() { held = [] }

  // MARK: Limits

  var committedBodyBytes: Int { exchange.upload.offset }
  var isAlone: Bool { multiplexer.isAlone }
  var redirectPatience: Duration? { .zero }
  var nextLook: Int64 { restDueAt }

  var handedOutAt: Int64 {
    guard let stream, let time = session.lastSent(on: stream) else { return .min }
    return Int64(clamping: time)
  }

  func look(now: Int64) -> Bool {
    guard now >= restDueAt, exchange.rest.isOpen || now < exchange.job.expiresAt else { return false }
    lookAtRest()
    return true
  }

  func limitPassed(now: Int64) {
    guard stream != nil, case .part = exchange.rest, exchange.requestSent else { return }
    multiplexer.doubt(isSilent: isSilent(now: now))
  }

  /// Returns whether the server sent nothing, as far as this exchange can tell.
  private func isSilent(now: Int64) -> Bool {
    if exchange.receiver.route.response == nil { return true }
    guard let limit = exchange.job.request.idleTimeout else { return false }
    return now >= multiplexer.heardAt.adding(limit)
  }
}

/// Sending the request body: the session asks for it as the server accepts it.
extension HTTP2Call {
  /// Provides the session with as many bytes of the body as it has room for.
  func resumeSending() {
    guard let stream, exchange.isRunning else { return }
    defer { exchange.receiver.tellSent(committedBodyBytes) }
    switch exchange.job.request.body.source {
    case .empty: break
    case .bytes(let data):
      let piece = exchange.upload.next(of: data, upTo: session.room(on: stream))
      if !piece.isEmpty { piece.withUnsafeBytes { provide($0, on: stream) } }
      if exchange.upload.offset == data.count { session.endBody(stream) }
    case .stream, .file: fillFromChannel(stream)
    }
    multiplexer.scheduleFlush()
  }

  private func provide(_ bytes: UnsafeRawBufferPointer, on stream: HTTP2Stream) {
    exchange.upload.offset += session.provide(bytes, on: stream)
    exchange.wasActive()
  }

  private func fillFromChannel(_ stream: HTTP2Stream) {
    while session.room(on: stream) > 0, !exchange.upload.isPaused {
      let space = UnsafeMutableRawBufferPointer(
        rebasing: exchange.engine.context.bodySpace.prefix(session.room(on: stream)))
      switch exchange.upload.read(from: exchange.job, into: space) {
      case .bytes(let count):
        provide(UnsafeRawBufferPointer(rebasing: space.prefix(count)), on: stream)
        if let error = exchange.failureOfSourceAtEnd { return exchange.host.conclude(exchange, error) }
      case .end: return endBody(stream)
      case .wait: break
      case .failed(let error): return exchange.host.conclude(exchange, error)
      }
    }
    // If the last byte filled the last room, the loop ended without noticing that the body is complete.
    if exchange.upload.rest(of: exchange.job) == 0 { session.endBody(stream) }
  }

  /// Ends the body with the trailers of its source.
  private func endBody(_ stream: HTTP2Stream) {
    do throws(TransportError) {
      session.endBody(stream, trailers: try HTTP2Fields(trailers: exchange.job.upload?.trailers ?? []))
    } catch {
      exchange.host.conclude(exchange, error.afterSending)
    }
  }

  /// Stops sending the body, because the server wants no more of it.
  func stopBody() {
    exchange.upload.isPaused = false
    // A source that has given all announced bytes is still asked whether that was its end.
    if exchange.upload.rest(of: exchange.job) != 0 { exchange.job.upload?.stop() }
  }
}

extension HTTP2Call {
  /// Returns the error for a stream that ended without a complete response.
  func transportError(_ ending: HTTP2Ending) -> TransportError {
    let hasResponse = exchange.receiver.route.response != nil
    var error: TransportError =
      switch ending {
      // HTTP/2 gave no reason for the end.
      case .whole, .lost(.closed(nil)): lostConnection()
      // After a response has begun, NO_ERROR and REFUSED_STREAM mean that its body was cut.
      case .reset(let code):
        hasResponse && (code == .noError || code == .refusedStream) ? .cutByReset(code) : .resetStream(code)
      case .unprocessed(let reason): TransportError(reason)
      case .broken(let violation), .lost(.violation(let violation)): TransportError(violation)
      case .lost(.unanswered): .unansweredPing
      case .lost(.closed(let code?)): .closedWith(code)
      }
    error.requestSent = exchange.requestSent
    return error
  }

  private func lostConnection() -> TransportError {
    let cause = multiplexer.failure
    if let cause, cause.code != .receiveFailed, cause.code != .sendFailed { return cause }
    var error: TransportError
    switch (exchange.receiver.route.response == nil, exchange.isOnReused && exchange.requestSent, cause == nil) {
    case (true, true, _): error = .closedAfterSending
    case (true, false, true): error = HeadViolation.endsInHead.transportError
    case (true, false, false): error = .resetBeforeAnswer
    case (false, _, true): error = HeadViolation.endsInBody.transportError
    case (false, _, false): error = .resetInBody
    }
    error.systemCode = cause?.systemCode
    return error
  }
}
