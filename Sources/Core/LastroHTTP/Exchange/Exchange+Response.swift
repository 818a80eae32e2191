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
    guard try receiver.prepare(for: head, framing) else { return false }
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
