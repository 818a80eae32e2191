// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// The head of the response.
extension Exchange {
  /// Decides by the final head what is done with its body.
  ///
  /// - Returns: false where no more of the response is wanted.
  /// - Throws: the reason why the response cannot be taken.
  func take(
    _ response: HTTPResponse, of head: ResponseHead, _ framing: ResponseFraming
  ) throws(TransportError) -> Bool {
    receiver.note(response, status: head.status, framing)
    if sendingPaused { goesOn() }
    if head.status >= 300, job.request.dropsRedirectBodies, response.isRedirect { return dropBody() }
    guard try receiver.prepare(for: head) else { return false }
    decoder = try receiver.makeDecoder(for: head)
    if receiver.goesToStream { receiver.answerWithStream(facts()) }
    limitPatience()
    return true
  }

  /// Decides what is done with a redirect's body. A short one is read, so that the connection can be used again: at
  /// first before the job is answered, and then behind the caller's back. Of every other body nothing is read. Over
  /// HTTP/2 that resets the stream only.
  ///
  /// - Returns: whether the exchange continues.
  private func dropBody() -> Bool {
    // What of the request is still to be sent has no length that a server would wait for.
    let isRequestWhole = !job.request.hasBody || job.request.body.length == Int64(handedOver)
    guard receiver.dropBody(), isRequestWhole, let patience = runner?.redirectPatience else {
      receiver.cutRest()
      return false
    }
    if patience > .zero {
      treatRest(as: .awaited(until: lastActivity.adding(patience)))
      engine.noteExpiry(of: self)
    } else {
      answerHead()
    }
    return true
  }
}

// MARK: - The body of the response

extension Exchange: BodySink {
  /// Takes a piece of the body as it came.
  func take(body bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict {
    if receiver.isClosed { return .refused }
    return try receiver.isDecoded ? decode(bytes) : receiver.deliver(bytes)
  }

  private func decode(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> BodyVerdict {
    try decoder?.receive(bytes, for: self) ?? .refused
  }

  func deliver(_ bytes: UnsafeRawBufferPointer) -> BodyVerdict { receiver.deliver(bytes) }

  func hasRoom() -> Bool { receiver.hasRoom() }

  var receivedAt: UInt64 { UInt64(clamping: now) }

  /// Notes that the body has come whole.
  ///
  /// - Throws: if its content coding is incomplete.
  func endBody() throws(TransportError) {
    if !receiver.wasCut { try decoder?.end() }
  }
}
