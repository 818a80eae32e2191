// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The end of an upload whose length was announced. No byte beyond that length is sent, so that a source with more
/// would be cut and pass for whole: it is asked once more, and the request succeeds when it says that this was all.
extension Exchange {
  /// Returns the part of a buffer that may be filled. Bytes after the announced length would be read as the next
  /// request.
  func announcedPart(of buffer: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer {
    guard let length = job.request.body.length else { return buffer }
    return UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: length - Int64(uploadOffset))))
  }

  /// Whether the source has neither ended nor given more than was announced; it wakes the loop when it does.
  var awaitsSourceEnd: Bool {
    if case .wait = supplyAtEnd { true } else { false }
  }

  /// The reason why the request fails although all announced bytes were read.
  var failureOfSourceAtEnd: TransportError? {
    switch supplyAtEnd {
    case .bytes: .sourceTooLong(job.request.body.length ?? 0).afterSending
    case .failed(let error): error.afterSending
    case .end, .wait, nil: nil
    }
  }

  /// The source's state after the last byte that was announced; `nil` before, and where it does not matter: a response
  /// outside 200–299 is the outcome, whatever was sent.
  private var supplyAtEnd: UploadChannel.Supply? {
    guard let upload = job.upload, let length = job.request.body.length, Int64(uploadOffset) == length,
      !receiver.isErrorAnswer, !receiver.wasCut
    else { return nil }
    return upload.peek()
  }
}
