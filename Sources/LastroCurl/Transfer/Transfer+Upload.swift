// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroExchange

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The body of the request, on its way to libcurl.
extension Transfer {
  /// Fills libcurl's upload buffer. Gives the count, or one of its special values.
  func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    lastActivity = clock.now
    defer { noteSending() }
    guard let upload = job.upload else { return supplyFromMemory(buffer) }
    let room = announcedPart(of: buffer)
    if room.isEmpty { return 0 }
    switch upload.read(into: room) {
    case .bytes(let count):
      uploadOffset += count
      if let error = failureOfSourceAtEnd { return abortUpload(error) }
      return count
    case .end: return checkUploadLength()
    case .wait:
      sendingPaused = true
      return Int(CURL_READFUNC_PAUSE)
    case .failed(let error): return abortUpload(error)
    }
  }

  /// libcurl wants the upload from the start again, for a resend.
  func rewind(to offset: Int64) -> Int32 {
    guard job.upload == nil, offset >= 0, let length = job.request.body.length, offset <= length else {
      return Int32(CURL_SEEKFUNC_FAIL)
    }
    uploadOffset = Int(offset)
    return Int32(CURL_SEEKFUNC_OK)
  }

  private func supplyFromMemory(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard case .bytes(let data) = job.request.body.source else { return 0 }
    let count = min(buffer.count, data.count - uploadOffset)
    guard count > 0 else { return 0 }
    let start = data.startIndex + uploadOffset
    data.copyBytes(to: buffer, from: start..<start + count)
    uploadOffset += count
    return count
  }

  private func abortUpload(_ error: TransportError) -> Int {
    failure = error.afterSending
    return Int(CURL_READFUNC_ABORT)
  }

  /// A source that ends early would leave the server waiting for the announced rest.
  private func checkUploadLength() -> Int {
    guard let length = job.request.body.length, Int64(uploadOffset) < length else { return 0 }
    failure = .sourceTooShort(Int64(uploadOffset), of: length)
    return Int(CURL_READFUNC_ABORT)
  }
}
