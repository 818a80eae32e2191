// SPDX-License-Identifier: Apache-2.0

/// Events for the half that receives the response.
extension HTTP1Exchange {
  /// Reads from `position` on. Bytes that arrive before the request has started are not parsed: no request has asked
  /// for them.
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
          try processFinalHead(head)
          return .head(head)
        case .body(let count): return .body(count)
        case .end:
          responseEnded(hasLeftover: position < bytes.count)
          return ended
        }
      }
    } catch {
      throw fail(.answer(error))
    }
  }

  /// Marks bytes of the body as used.
  package mutating func markUsed(_ count: Int) { reader.markUsed(count) }

  /// Records that the connection has ended.
  ///
  /// - Parameter cleanly: whether the connection ended in good order: FIN over TCP, and `close_notify` over TLS. A
  ///   response that is delimited only by the end of the connection is complete only then. Otherwise an attacker on the
  ///   path could have truncated it.
  /// - Returns: `end` if the response is complete.
  /// - Throws: ``HTTP1Failure`` if it is not.
  package mutating func connectionEnded(cleanly: Bool) throws(HTTP1Failure) -> Event {
    guard connection == .inUse else { return ended }
    switch reading {
    case .waiting, .head: throw fail(lost)
    case .body:
      guard cleanly || !reader.endsWithConnection else { throw fail(lost) }
      do throws(HeadViolation) { try reader.connectionEnded() } catch { throw fail(lost) }
      responseEnded(hasLeftover: false)
    case .complete, .tunnel: break
    }
    if connection == .inUse || connection == .reusable { connection = .toClose }
    return ended
  }

  private var ended: Event {
    switch reading {
    case .waiting, .head, .body: .needsMore
    case .complete: .end
    case .tunnel: .tunnel
    }
  }

  /// Processes the final head.
  private mutating func processFinalHead(_ head: ResponseHead) throws(HeadViolation) {
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

  private mutating func responseEnded(hasLeftover: Bool) {
    if reader.opensTunnel {
      reading = .tunnel
      connection = .handedOver
      return
    }
    reading = .complete
    if hasLeftover { connection = .toClose } else { settle() }
  }

  /// Decides the connection's fate once the response is complete. If the status is below 300, the rest of the request's
  /// body is still sent, unless the server is about to close the connection.
  mutating func settle() {
    guard reading == .complete, connection == .inUse else { return }
    guard reader.keepsConnection else { return connection = .toClose }
    switch writing {
    case .sent: connection = asksToClose ? .toClose : .reusable
    case .body, .flushing: break
    case .head, .awaitContinue, .stopped, .broken: connection = .toClose
    }
  }

  /// The kind of failure if the connection ends now.
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
