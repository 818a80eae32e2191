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

  init(_ head: HTTPResponse) {
    status = head.status.code
    range = head.headerFields[.contentRange].flatMap(ContentRange.init)
    length = head.headerFields[.contentLength].flatMap { text in
      text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
    isMultipart = (head.headerFields[.contentType] ?? "").lowercased().hasPrefix("multipart/byteranges")
    let total: Int64? = status == 206 || status == 416 ? range?.total : length
    representation = Representation(head.headerFields, total: total)
  }

  /// Why a 206 is not the part that was asked for; `nil` where it is.
  func mismatch(from start: Int64) -> String? {
    guard status == 206 else { return "the status is \(status), not 206" }
    if isMultipart { return "the answer has several parts where one was asked for" }
    guard let range, let bytes = range.bytes else {
      return "the answer with a part has no Content-Range that can be read"
    }
    if bytes.lowerBound != start { return "the part begins at byte \(bytes.lowerBound), not at \(start)" }
    if let length, length != Int64(bytes.count) {
      return "the part has \(length.counted("byte")), and its Content-Range \(bytes.count)"
    }
    return nil
  }
}
