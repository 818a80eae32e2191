// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

/// The head of an answer to a download's request, as far as it says which bytes follow.
struct RangeAnswer: Hashable, Sendable {
  var status: Int
  var representation: Representation
  /// Of an answer with a part.
  var range: ContentRange?
  /// `Content-Length`; `nil` where it is not told.
  var length: Int64?
  /// Whether the body is made of several parts.
  var isMultipart: Bool

  /// - Parameter receivedAt: when the head came, in seconds since 1970.
  init(_ head: HTTPResponse, receivedAt: Int64? = nil) {
    status = head.status.code
    range = head.headerFields[.contentRange].flatMap(ContentRange.init)
    length = head.headerFields[.contentLength].flatMap { text in
      text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
    isMultipart = (head.headerFields[.contentType] ?? "").lowercased().hasPrefix("multipart/byteranges")
    let total: Int64? = status == 206 || status == 416 ? range?.total : length
    representation = Representation(head.headerFields, total: total, receivedAt: receivedAt)
  }

  /// Returns why a 206 cannot continue a file at `start`, or `nil` if it can.
  ///
  /// A part may begin earlier: caches answer in whole blocks. The bytes before `start` then overlap what is there.
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

  /// Returns why a 206 cannot continue a file of which something is known, or `nil` if it can.
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
  /// Missing credentials, rate limits and overload concern every request, and pass.
  var mayBeDueToRange: Bool { ![401, 407, 408, 421, 425, 429, 502, 503, 504, 511].contains(status) }
}
