// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// The end of an upload whose length was announced. libcurl asks for no byte beyond that length, so that a source with more
/// would be cut and pass for whole: it is asked once more, and the request succeeds when it says that this was all.
extension Transfer {
  /// As much of libcurl's buffer as may be filled. Whatever came after the announced length would be read as the next
  /// request.
  func announcedPart(of buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
    guard let length = job.request.body.length else { return buffer }
    return UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: length - Int64(uploadOffset))))
  }

  /// Whether a transfer that libcurl is done with may be answered. Not while all went well, and its source has neither
  /// ended nor given more than was announced; it wakes the loop when it does.
  func mayEnd(_ code: CURLcode) -> Bool {
    isDelivered = outcome(code) == nil && awaitsSourceEnd
    return !isDelivered
  }

  private var awaitsSourceEnd: Bool {
    if case .wait = supplyAtEnd { true } else { false }
  }

  /// Why the request fails although all that was announced was read.
  var failureOfSourceAtEnd: TransportError? {
    switch supplyAtEnd {
    case .bytes: .sourceTooLong(job.request.body.length ?? 0).afterSending
    case .failed(let error): error.afterSending
    case .end, .wait, nil: nil
    }
  }

  /// What a source says after the last byte that was announced; `nil` before, and where nobody needs to know: an answer
  /// outside 200–299 stands, whatever was sent.
  private var supplyAtEnd: UploadChannel.Supply? {
    guard let upload = job.upload, let length = job.request.body.length, Int64(uploadOffset) == length, !isErrorAnswer,
      !wasCut
    else { return nil }
    return upload.peek()
  }
}

extension TransportError {
  fileprivate static func sourceTooLong(_ length: Int64) -> TransportError {
    .refused(
      .invalidBody, "the body is longer than the \(length) bytes announced",
      hint: "announce the true length, or none; a file must not change while it is sent")
  }

  /// The same, of a request that was begun to be sent.
  var afterSending: TransportError {
    var error = self
    error.requestSent = true
    return error
  }
}
