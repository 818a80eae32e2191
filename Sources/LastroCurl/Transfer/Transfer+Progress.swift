// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroWire

extension Transfer {
  /// `Content-Length` of an answer that has a body.
  private var expectedBytes: Int64? {
    guard let response, job.request.head.method != .head, ![204, 304].contains(response.status.code) else { return nil }
    return machine.contentLength
  }

  /// Tells of the upload, when it is time to.
  func noteSending() { progress?.sent(Int64(uploadOffset), at: lastActivity) }

  /// Tells of the body, when it is time to.
  func noteReceiving() {
    guard progress != nil else { return }
    let total = expectedBytes
    progress?.received(
      decoded: delivered, at: lastActivity, wire: { [easy] in easy.facts.download_size }, of: total)
  }

  /// Tells how far it came in the end.
  func noteEnd(_ facts: TransferFacts) {
    guard let transfer = progress?.transfer else { return }
    if !job.request.body.isEmpty { transfer.report(sent: Int64(uploadOffset)) }
    transfer.report(received: facts.bytesReceived, of: expectedBytes)
  }
}
