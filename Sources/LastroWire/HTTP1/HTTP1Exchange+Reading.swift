// SPDX-License-Identifier: Apache-2.0

/// Events of the half that receives the answer.
extension HTTP1Exchange {
  /// Most bytes that are read for nothing, so that the connection can carry another exchange.
  private static let maximumDrainedBytes = 65_536

  /// Reads on from `position`, in bytes that came. Before the request has started there is nothing to read: bytes
  /// that come then were not asked for.
  ///
  /// - Parameter now: in nanoseconds, for the rate of interim responses. Default 0: there is no clock, and only
  ///   progress counts.
  /// - Throws: ``HTTP1Failure``.
  package mutating func next(
    in bytes: UnsafeRawBufferPointer, at position: inout Int, now: UInt64 = 0
  ) throws(HTTP1Failure) -> Event {
    guard connection == .inUse else { return ended }
    switch reading {
    case .waiting:
      if position == bytes.count { return .needsMore }
      if writing == .head { throw fail(.lostBeforeFirstByte) }
      reading = .head
    case .head, .body: break
    case .complete, .tunnel:
      if position < bytes.count { connection = .toClose }
      return ended
    }
    return try read(bytes, &position, now)
  }

  private mutating func read(
    _ bytes: UnsafeRawBufferPointer, _ position: inout Int, _ now: UInt64
  ) throws(HTTP1Failure) -> Event {
    do throws(HeadViolation) {
      while true {
        switch try reader.next(in: bytes, at: &position, now: now) {
        case .needsMore: return .needsMore
        case .interim(let head):
          guard head.status == 100 else { return .interim(head) }
          if writing == .awaitContinue { writing = .body }
        case .head(let head):
          try begin(head)
          return .head(head)
        case .body(let count): return .body(count)
        case .end:
          finish(hasLeftover: position < bytes.count)
          return ended
        }
      }
    } catch {
      throw fail(.answer(error))
    }
  }

  /// So many bytes of the body that was found are used.
  package mutating func take(_ count: Int) { reader.take(count) }

  /// The connection has ended: nothing more comes.
  ///
  /// - Parameter cleanly: in good order: FIN over TCP, and `close_notify` over TLS. An answer that only the
  ///   connection's end delimits is whole only then: without it, anyone on the way could have cut it.
  /// - Returns: `end` where the answer is whole.
  /// - Throws: ``HTTP1Failure`` where it is not.
  package mutating func connectionEnded(cleanly: Bool) throws(HTTP1Failure) -> Event {
    guard connection == .inUse else { return ended }
    switch reading {
    case .waiting, .head: throw fail(lost)
    case .body:
      guard cleanly || !reader.endsWithConnection else { throw fail(lost) }
      do throws(HeadViolation) { try reader.finish() } catch { throw fail(lost) }
      finish(hasLeftover: false)
    case .complete, .tunnel: break
    }
    if connection == .inUse || connection == .reusable { connection = .toClose }
    return ended
  }

  /// The reader of the body wants no more of it. Where the rest is known and small, it is still to be read, and
  /// dropped, for ``timer``'s time; else the connection is to be closed.
  package mutating func readerLeft() {
    guard connection == .inUse, reading != .complete else { return }
    guard reading == .body, writing == .sent, !asksToClose, let rest = reader.remainingBodyBytes,
      rest <= Self.maximumDrainedBytes
    else { return cancelled() }
    isDraining = true
  }

  private var ended: Event {
    switch reading {
    case .waiting, .head, .body: .needsMore
    case .complete: .end
    case .tunnel: .tunnel
    }
  }

  /// The final head has come.
  private mutating func begin(_ head: ResponseHead) throws(HeadViolation) {
    status = head.status
    responseFraming = reader.framing
    reading = .body
    switch writing {
    case .awaitContinue, .body, .broken:
      if reader.opensTunnel {
        throw HeadViolation(.unexpectedUpgrade, "the server switched protocols before it had the whole request")
      }
      if writing == .broken { break }
      // A final response below 300 instead of 100 (Continue) asks for the body, too: the server reads on while it
      // responds (RFC 9110 §10.1.1).
      writing = head.status < 300 ? .body : .stopped
    case .head, .flushing, .sent, .stopped: break
    }
  }

  private mutating func finish(hasLeftover: Bool) {
    if reader.opensTunnel {
      reading = .tunnel
      connection = .handedOver
      return
    }
    reading = .complete
    if hasLeftover { connection = .toClose } else { settle() }
  }

  /// Decides what becomes of the connection, once the answer is complete. Below 300 the rest of the body still goes
  /// out, unless the server is about to close.
  mutating func settle() {
    guard reading == .complete, connection == .inUse else { return }
    guard reader.keepsConnection else { return connection = .toClose }
    switch writing {
    case .sent: connection = asksToClose ? .toClose : .reusable
    case .body, .flushing: break
    case .head, .awaitContinue, .stopped, .broken: connection = .toClose
    }
  }

  /// How the end of the connection is called here.
  var lost: HTTP1Failure.Kind {
    switch reading {
    case .waiting: .lostBeforeFirstByte
    case .head: .lostInHead
    case .body, .complete, .tunnel: .truncated
    }
  }

  mutating func fail(_ kind: HTTP1Failure.Kind) -> HTTP1Failure {
    connection = .toClose
    return HTTP1Failure(kind: kind, requestSent: requestSent || writing != .head && reading != .waiting)
  }
}
