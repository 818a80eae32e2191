// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroSupport
import LastroWire

/// The head of a response to a download's request: the fields that say which bytes follow.
struct RangeAnswer: Hashable, Sendable {
  var status: Int
  var representation: Representation
  /// `Content-Range`; `nil` if it is absent or invalid.
  var range: ContentRange?
  /// `Content-Length`; `nil` if it is absent or invalid.
  var length: Int64?
  /// Whether the body is `multipart/byteranges`.
  var isMultipart: Bool

  /// - Parameter receivedAt: the time at which the head was received, in seconds since 1970.
  init(_ head: HTTPResponse, receivedAt: Int64? = nil) {
    status = head.status.code
    range = head.headerFields[.contentRange].flatMap(ContentRange.init)
    length = head.headerFields[.contentLength].flatMap { Int64(digits: $0) }
    isMultipart = (head.headerFields[.contentType] ?? "").lowercased().hasPrefix("multipart/byteranges")
    let total: Int64? = status == 206 || status == 416 ? range?.total : length
    representation = Representation(head.headerFields, total: total, receivedAt: receivedAt)
  }

  /// Returns why a 206 cannot continue a file at `start`, or `nil` if it can.
  ///
  /// A part may begin earlier, because caches respond in whole blocks. Its bytes before `start` then overlap bytes on
  /// disk.
  func mismatch(from start: Int64) -> String? {
    guard status == 206 else { return "the status is \(status), not 206" }
    if isMultipart { return "the answer has several parts where one was asked for" }
    guard let range, let bytes = range.bytes else {
      return "the answer with a part has no Content-Range that can be read"
    }
    if bytes.lowerBound > start { return "the part begins at byte \(bytes.lowerBound), not at \(start)" }
    if bytes.upperBound <= start { return "the part ends at byte \(bytes.upperBound - 1), before byte \(start)" }
    if let length, length != Int64(bytes.count) {
      return "the part has \(length.counted("byte")), and its Content-Range \(bytes.count)"
    }
    return nil
  }

  /// Returns why a 206 cannot continue a file of a known representation, or `nil` if it can.
  func mismatch(from start: Int64, of known: Representation?) -> String? {
    if let reason = mismatch(from: start) { return reason }
    guard let known else { return nil }
    if let reason = known.mismatch(with: representation) { return reason }
    guard let total = known.total, let end = range?.bytes?.upperBound, end > total else { return nil }
    return "the part ends at byte \(end - 1), and the file has \(total.counted("byte"))"
  }

  /// Whether a 206 carries every byte of the file.
  var isWhole: Bool {
    guard mismatch(from: 0) == nil, let total = range?.total else { return false }
    return range?.bytes == 0..<total
  }

  /// Whether a refusal may be due to `Range`, so that a request without it may succeed.
  ///
  /// Responses about credentials, rate limits and overload concern every request, and may not recur.
  var mayBeDueToRange: Bool { ![401, 407, 408, 421, 425, 429, 502, 503, 504, 511].contains(status) }
}
