// SPDX-License-Identifier: Apache-2.0

/// How the body of a response is delimited (RFC 9112 §6.3), and whether its head says so without contradiction.
package struct ResponseFraming: Equatable, Sendable {
  package private(set) var contentLength: Int64?
  package private(set) var isChunked = false
  package private(set) var hasTransferEncoding = false
  package private(set) var hasContentEncoding = false

  package init() {}

  /// - Throws: ``HeadViolation`` where two recipients could see two different bodies: unequal lengths, a length beside a
  ///   transfer coding, any coding but `chunked` (we offer no other: RFC 9112 §7.4), framing fields in a 1xx response.
  package init(_ head: ResponseHead) throws(HeadViolation) {
    var codings: [String] = []
    for field in head.fields {
      switch field.name.utf8.count {
      case 14 where field.name.lowercased() == "content-length": try addLength(field.value)
      case 16 where field.name.lowercased() == "content-encoding":
        hasContentEncoding = hasContentEncoding || field.value.lowercased() != "identity"
      case 17 where field.name.lowercased() == "transfer-encoding":
        hasTransferEncoding = true
        codings += field.value.lowercased().split(separator: ",", omittingEmptySubsequences: false).map {
          Self.trimmed($0)
        }
      default: break
      }
    }
    if hasTransferEncoding { try checkCodings(codings, version: head.version) }
    // A 1xx head has no body, and its length would be taken for that of the final response.
    guard head.status >= 200 || contentLength == nil && !hasTransferEncoding else {
      throw HeadViolation(
        hasTransferEncoding ? .transferEncoding : .contentLength, "an interim response has a framing field")
    }
  }

  private mutating func addLength(_ text: String) throws(HeadViolation) {
    // RFC 9110 §8.6: a list of equal values may be taken as one.
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let digits = Self.trimmed(part)
      guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let value = Int64(digits) else {
        throw HeadViolation(.contentLength, "Content-Length is no number")
      }
      if let contentLength, contentLength != value {
        throw HeadViolation(.contentLength, "several Content-Length values contradict each other")
      }
      contentLength = value
    }
  }

  private mutating func checkCodings(_ codings: [String], version: (major: UInt8, minor: UInt8)) throws(HeadViolation) {
    guard version.major == 1, version.minor >= 1 else {
      throw HeadViolation(.transferEncoding, "Transfer-Encoding does not exist in this version of HTTP")
    }
    guard contentLength == nil else {
      throw HeadViolation(.transferEncoding, "Content-Length and Transfer-Encoding contradict each other")
    }
    guard codings == ["chunked"] else {
      throw HeadViolation(.transferEncoding, "Transfer-Encoding is something else than chunked, once")
    }
    isChunked = true
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}
