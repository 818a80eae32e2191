// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroWire

extension Transfer {
  /// Tells of the upload, when it is time to.
  func noteSending() { progress?.sent(Int64(uploadOffset), at: lastActivity) }

  /// Tells of the body, when it is time to.
  func noteReceiving() {
    guard progress != nil else { return }
    let total = bodyLength
    progress?.received(
      decoded: delivered, at: lastActivity, wire: { [easy] in easy.facts.download_size }, of: total)
  }

  /// Tells how far it came in the end.
  func noteEnd(_ facts: TransferFacts) {
    guard let transfer = progress?.transfer else { return }
    if !job.request.body.isEmpty { transfer.report(sent: Int64(uploadOffset)) }
    transfer.report(received: facts.bytesReceived, of: bodyLength)
  }
}
