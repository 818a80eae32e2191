// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// The handling of the response head.
extension Exchange {
  /// Processes the final head, and decides how its body is handled.
  ///
  /// - Returns: false if nothing more of the response is wanted.
  /// - Throws: the reason why the response cannot be accepted.
  func receive(
    _ response: HTTPResponse, of head: ResponseHead, _ framing: ResponseFraming
  ) throws(TransportError) -> Bool {
    receiver.route.note(response, status: head.status, framing, toHead: job.isHead)
    if upload.isPaused { restartIdleTimeout() }
    if head.status >= 300, job.request.dropsRedirectBodies, response.isRedirect { return dropBody() }
    guard try receiver.prepare(for: head) else { return false }
    decoder = try receiver.makeDecoder(for: head)
    if receiver.route.isStream {
      if job.isTunnel, engine.isShutDown { throw .shutDown }
      receiver.answerWithStream(facts())
      if job.isTunnel { openTunnel() }
    }
    limitPatience()
    return true
  }

  /// Lifts the limits of time.
  private func openTunnel() {
    rest = .open
    engine.tunnelOpened()
  }

  /// Decides how the body of a redirect is handled. A short body is read, so that the connection can be used again:
  /// first before the job is answered, and after a while in the background. No other body is read; over HTTP/2, this
  /// resets only the stream.
  ///
  /// - Returns: whether the exchange continues.
  private func dropBody() -> Bool {
    // A request body counts as sent only if its length was announced and all of it was handed over.
    let isRequestWhole = !job.request.hasBody || job.request.body.length == Int64(committedBodyBytes)
    receiver.route.sink = .drop
    guard receiver.route.leavesLittle, isRequestWhole, let patience = runner?.redirectPatience else {
      receiver.route.wasCut = true
      return false
    }
    if patience > .zero {
      rest = .awaited(until: lastActivity.adding(patience))
      engine.scheduleCheck(of: self)
    } else {
      answerHead()
    }
    return true
  }
}

// MARK: - The body of the response

extension Exchange: BodySink {
  /// Receives a piece of the body as it was sent, before decoding.
  func receive(body bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict {
    if receiver.route.wasCut { return .refused }
    guard receiver.isDecoded else { return try receiver.deliver(bytes) }
    return try decoder?.receive(bytes, for: self) ?? .refused
  }

  func deliver(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict { try receiver.deliver(bytes) }

  func hasRoom() -> Bool { receiver.hasRoom() }

  var receivedAt: UInt64 { UInt64(clamping: now) }

  /// Ends the body, all of which has arrived.
  ///
  /// - Throws: an error if its content coding is incomplete.
  func endBody() throws(TransportError) {
    if !receiver.route.wasCut { try decoder?.end() }
  }
}
