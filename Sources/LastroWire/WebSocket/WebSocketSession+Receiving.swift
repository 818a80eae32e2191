// SPDX-License-Identifier: Apache-2.0

extension WebSocketSession {
  /// What the only reader of the stream has to do.
  package enum Intake: Equatable, Sendable {
    /// ``work(now:)`` goes on with what was read.
    case work
    /// The stream is to be read, and its bytes or its end to be handed in.
    case read
    /// Nothing, until something else has happened: readers are too slow, or our Close frame is not out.
    case wait
    /// The reader may go.
    case over
  }

  /// Pieces are worked off in portions of about so many bytes, for a few bytes that come in may decompress to very
  /// many.
  private static let portionBytes = 65_536

  package var intake: Intake {
    if phase == .done { return .over }
    if phase == .lingering { return .read }
    guard phase.decodes else { return .wait }
    if heldPiece != nil { return canPlace ? .work : .wait }
    return mayHaveMore ? .work : .read
  }

  /// Hands in what was read. What comes when nothing is to be said any more is dropped.
  package mutating func receive(_ bytes: UnsafeRawBufferPointer) {
    keepAlive.hasReceived = true
    guard phase.decodes else { return }
    decoder.receive(bytes)
    mayHaveMore = true
  }

  /// Works some of it off. Call it while ``intake`` is ``Intake/work``.
  package mutating func work(now: Duration) {
    var portion = 0
    while portion < Self.portionBytes, intake == .work { portion += workOnce(now: now) }
  }

  /// Works off one event; returns the bytes that it has for readers.
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
      for ping in pings.take(answeredBy: payload) {
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

  /// Hands a piece to the readers, or keeps it while the slowest of them has too much unread. While we leave, one that
  /// cannot be kept is dropped, and all that follow.
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

  /// A new reader: the first gets what came before it, another what comes next.
  package mutating func join() -> UInt64 { inbox.join() }

  package mutating func leave(_ reader: UInt64, now: Duration) {
    inbox.leave(reader)
    noteCaughtUp(now)
  }

  /// The next piece for a reader; `nil` when it has all that came. ``state`` tells whether more can come.
  package mutating func next(for reader: UInt64, now: Duration) -> WebSocketPiece? {
    let piece = inbox.next(for: reader)
    if piece == nil { noteCaughtUp(now) }
    return piece
  }
}
