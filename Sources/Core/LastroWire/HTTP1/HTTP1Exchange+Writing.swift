// SPDX-License-Identifier: Apache-2.0

/// Events for the half that sends the request. Events after the end of the exchange are ignored.
extension HTTP1Exchange {
  /// Records that the head is about to be sent. If ``writing`` is `body` afterwards, the first bytes of the source may
  /// be sent with it.
  package mutating func started() {
    guard connection == .inUse, writing == .head else { return }
    writing = expectsContinue ? .awaitContinue : framing.hasBody ? .body : .flushing
  }

  /// Records that the connection accepted some of the queued bytes.
  package mutating func wroteSome() {
    if writing != .head { requestSent = true }
  }

  /// Records that the connection accepted all queued bytes.
  package mutating func wroteAll() {
    guard connection == .inUse else { return }
    switch writing {
    case .head, .sent, .stopped, .broken: return
    case .awaitContinue: isHeadOut = true
    case .body: break
    case .flushing:
      writing = .sent
      settle()
    }
    requestSent = true
  }

  /// Frames bytes of the body that the source has provided.
  ///
  /// - Returns: the framing of the first bytes; call again for the rest. `nil` if no bytes are wanted: either before
  ///   100 (Continue), which asks for them later, or for good.
  /// - Throws: ``HTTP1Failure`` of kind `body` if the body is longer than announced, before any of the bytes are sent.
  package mutating func sourceGave(_ count: Int) throws(HTTP1Failure) -> BodyWriter.Piece? {
    guard connection == .inUse, writing == .body, count > 0 else { return nil }
    do throws(RequestViolation) {
      let piece = try body.frame(count)
      reader.sentBody(piece.count)
      return piece
    } catch {
      try giveUp(.body(error))
      return nil
    }
  }

  /// Records that the source has ended.
  ///
  /// - Returns: the bytes that follow the body, which may be none. `nil` as in ``sourceGave(_:)``.
  /// - Throws: ``HTTP1Failure`` of kind `body` if the body is shorter than announced, or if trailers cannot be sent.
  package mutating func sourceEnded(_ trailers: [ResponseHead.Field] = []) throws(HTTP1Failure) -> [UInt8]? {
    guard connection == .inUse, writing == .body else { return nil }
    do throws(RequestViolation) {
      let end = try body.end(trailers: trailers)
      writing = .flushing
      return end
    } catch {
      try giveUp(.body(error))
      return nil
    }
  }

  /// Abandons a request that cannot be completed. If the response is already complete, the only effect is that the
  /// connection is closed.
  private mutating func giveUp(_ kind: HTTP1Failure.Kind) throws(HTTP1Failure) {
    if reading == .complete { return connection = .toClose }
    throw fail(kind)
  }

  /// Records that writing failed, which may be found after the connection has accepted all bytes. A response that the
  /// server sent before may still be read; it is often a 413.
  package mutating func writeFailed() {
    guard connection == .inUse else { return }
    switch writing {
    case .head, .awaitContinue, .body, .flushing, .sent: writing = .broken
    case .stopped, .broken: return
    }
    settle()
  }

  /// Records that ``timer`` has fired.
  ///
  /// - Throws: ``HTTP1Failure`` if no response has arrived within a second after writing failed.
  package mutating func timerFired() throws(HTTP1Failure) {
    switch timer {
    case .awaitContinue:
      writing = .body
      continueTimedOut = true
    case .grace:
      if reading == .complete { return connection = .toClose }
      throw fail(lost)
    case nil: break
    }
  }
}
