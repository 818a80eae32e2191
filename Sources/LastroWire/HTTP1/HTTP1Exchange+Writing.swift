// SPDX-License-Identifier: Apache-2.0

/// Events of the half that sends the request. What comes too late, after the exchange is over, is ignored.
extension HTTP1Exchange {
  /// The head is about to go out, and with it, where ``writing`` is `body` then, the first bytes of the source.
  package mutating func started() {
    guard connection == .inUse, writing == .head else { return }
    writing = expectsContinue ? .awaitContinue : framing.hasBody ? .body : .flushing
  }

  /// The connection took some of what is queued.
  package mutating func wroteSome() {
    if writing != .head { requestSent = true }
  }

  /// The connection took all of what was queued.
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

  /// The source has bytes of the body.
  ///
  /// - Returns: how the first of them go out; to be called again for those behind. `nil` where none are wanted:
  ///   before 100, which asks for them later, or for good.
  /// - Throws: ``HTTP1Failure`` of kind `body` for more bytes than were announced, before any of them goes out.
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

  /// The source has ended.
  ///
  /// - Returns: what goes out behind the body: it may be empty. `nil` as in ``sourceGave(_:)``.
  /// - Throws: ``HTTP1Failure`` of kind `body` for fewer bytes than were announced, or trailers that cannot be sent.
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

  /// The source has failed: the request cannot be ended in good order.
  ///
  /// - Throws: ``HTTP1Failure`` of kind `source`, unless the body is not wanted any more.
  package mutating func sourceFailed() throws(HTTP1Failure) {
    guard connection == .inUse else { return }
    switch writing {
    case .head, .awaitContinue, .body: try giveUp(.source)
    case .flushing, .sent, .stopped, .broken: return
    }
  }

  /// The request cannot be ended in good order. Where its answer is complete, that changes nothing but that the
  /// connection is closed.
  private mutating func giveUp(_ kind: HTTP1Failure.Kind) throws(HTTP1Failure) {
    if reading == .complete { return connection = .toClose }
    throw fail(kind)
  }

  /// The connection takes no more. What the server said before that may still be read: a 413 often is.
  package mutating func writeFailed() {
    guard connection == .inUse else { return }
    switch writing {
    case .head, .awaitContinue, .body, .flushing: writing = .broken
    case .sent, .stopped, .broken: return
    }
    settle()
  }

  /// What ``timer`` stands for has passed.
  ///
  /// - Throws: ``HTTP1Failure`` where no answer has come in the second after writing failed.
  package mutating func timerFired() throws(HTTP1Failure) {
    switch timer {
    case .awaitContinue:
      writing = .body
      continueTimedOut = true
    case .grace:
      if reading == .complete { return connection = .toClose }
      throw fail(lost)
    case .drain: connection = .toClose
    case nil: break
    }
  }

  /// The caller wants no answer any more: the connection is closed, unless nothing has begun.
  package mutating func cancelled() {
    if connection == .inUse { connection = writing == .head ? .reusable : .toClose }
  }
}
