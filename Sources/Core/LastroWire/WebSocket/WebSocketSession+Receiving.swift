// SPDX-License-Identifier: Apache-2.0

extension WebSocketSession {
  /// The next task of the stream's only reader.
  package enum Intake: Equatable, Sendable {
    /// Call ``work(now:)`` to process received bytes.
    case work
    /// Read from the stream, and pass its bytes or its end to the session.
    case read
    /// Wait for another event: readers are too slow, or our Close frame has not been sent.
    case wait
    /// The reader may stop.
    case over
  }

  /// The approximate number of bytes that one call of `work` processes. A few received bytes may expand to very many.
  private static let portionBytes = 65_536

  package var intake: Intake {
    if phase == .done { return .over }
    if phase == .lingering { return .read }
    guard phase.decodes else { return .wait }
    if heldPiece != nil { return canPlace ? .work : .wait }
    return mayHaveMore ? .work : .read
  }

  /// Passes received bytes to the session. Bytes are dropped in phases that do not decode.
  package mutating func receive(_ bytes: UnsafeRawBufferPointer) {
    keepAlive.hasReceived = true
    guard phase.decodes else { return }
    decoder.receive(bytes)
    mayHaveMore = true
  }

  /// Processes a portion of the received bytes. Call it while ``intake`` is ``Intake/work``.
  package mutating func work(now: Duration) {
    var portion = 0
    while portion < Self.portionBytes, intake == .work { portion += workOnce(now: now) }
  }

  /// Processes one event. Returns the number of bytes that it delivers to readers.
  @discardableResult
  package mutating func workOnce(now: Duration) -> Int {
    if let piece = heldPiece {
      heldPiece = nil
      keepAlive.isHeldUp = false
      place(piece)
      return piece.bytes.count
    }
    do throws(WebSocketViolation) {
      guard let event = try decoder.next() else {
        mayHaveMore = false
        keepAlive.isInsideFrame = decoder.isInsideDataFrame
        return 0
      }
      return handle(event, now)
    } catch {
      broke(error, now: now)
      return 0
    }
  }

  private mutating func handle(_ event: WebSocketDecoder.Event, _ now: Duration) -> Int {
    switch event {
    case .piece(let piece):
      place(piece)
      return piece.bytes.count
    case .ping(let payload):
      if configuration.answersPings { outbox.appendPong(payload) }
      act(.receivedPing(payload))
    case .pong(let payload):
      for ping in pings.removeAnswered(by: payload) {
        if ping.id == Self.keepAliveID {
          keepAlive.pong()
        } else if ping.isAwaited {
          act(.ponged(ping.id, payload: ping.payload, roundTrip: now - ping.sentAt))
        }
      }
      act(.receivedPong(payload))
    case .close(let code, let reason): receivedClose(code: code, reason: reason, now: now)
    }
    return 0
  }

  private var canPlace: Bool { inbox.hasRoom || isLeaving }

  /// Delivers a piece to readers, or holds it while the slowest reader has too much unread. If we began to close, a
  /// piece that does not fit is dropped, and so are all later ones.
  private mutating func place(_ piece: WebSocketPiece) {
    if phase.isEnded || isCut { return }
    if inbox.hasRoom {
      inbox.append(piece)
      act(.received)
    } else if isLeaving {
      isCut = true
    } else {
      heldPiece = piece
      keepAlive.isHeldUp = true
    }
  }

  // MARK: readers

  /// Adds a reader. The first reader starts with the pieces received so far, later readers with the next piece.
  package mutating func join() -> UInt64 { inbox.join() }

  package mutating func leave(_ reader: UInt64, now: Duration) {
    inbox.leave(reader)
    reportIfCaughtUp(now)
  }

  /// Returns the next piece for a reader; `nil` if it has read all. ``state`` shows whether there may be more.
  package mutating func next(for reader: UInt64, now: Duration) -> WebSocketPiece? {
    let piece = inbox.next(for: reader)
    if piece == nil { reportIfCaughtUp(now) }
    return piece
  }
}
