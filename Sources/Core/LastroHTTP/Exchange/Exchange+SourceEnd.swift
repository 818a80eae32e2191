// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The end of an upload whose length was announced. No byte beyond that length is sent, so a longer source would be cut
/// and still pass for complete. The source is therefore asked once more after the last announced byte, and the request
/// succeeds only when the source reports its end.
extension Exchange {
  /// Returns the part of a buffer that may be filled. A server would read bytes beyond the announced length as the next
  /// request.
  func announcedPart(of buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
    guard let length = job.request.body.length else { return buffer }
    return UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: length - Int64(uploadOffset))))
  }

  /// Whether the source, after all announced bytes, has neither ended nor given more. It wakes the loop when it does.
  var awaitsSourceEnd: Bool {
    if case .wait = supplyAtEnd { true } else { false }
  }

  /// The error with which the request fails although all announced bytes were read; `nil` if it does not fail.
  var failureOfSourceAtEnd: TransportError? {
    switch supplyAtEnd {
    case .bytes: .sourceTooLong(job.request.body.length ?? 0).afterSending
    case .failed(let error): error.afterSending
    case .end, .wait, nil: nil
    }
  }

  /// The state of the source after the last announced byte; `nil` before that byte, and where the state does not
  /// matter: the outcome of an error response does not depend on the upload.
  private var supplyAtEnd: UploadChannel.Supply? {
    guard let upload = job.upload, let length = job.request.body.length, Int64(uploadOffset) == length,
      !receiver.route.isErrorAnswer, !receiver.route.wasCut
    else { return nil }
    return upload.peek()
  }
}
