// SPDX-License-Identifier: Apache-2.0

/// The framing of a response's body (RFC 9112 §6.3), and whether its head is free of contradictions.
package struct ResponseFraming: Equatable, Sendable {
  package private(set) var contentLength: Int64?
  package private(set) var isChunked = false
  package private(set) var hasTransferEncoding = false
  package private(set) var hasContentEncoding = false
  /// Whether the framing fields of a response without a body contradict each other or are invalid.
  package private(set) var isContradictory = false
  /// Whether the head announces a body that the response must not have, so that its bytes might follow nevertheless.
  /// `Content-Length` or `chunked` in a response to HEAD or in a 304 announces nothing: it describes what a GET would
  /// have transferred (RFC 9110 §8.6, RFC 9112 §6.1).
  package private(set) var announcesMissingBody = false

  package init() {}

  /// Parses the framing fields of a head. The status and the request decide first whether there is a body at all (RFC
  /// 9112 §6.3, items 1 and 2). Without a body, no field is an error, because none of them frames anything.
  ///
  /// - Parameter request: the request that the head responds to.
  /// - Throws: ``HeadViolation`` if two recipients could see two different bodies: unequal lengths, a length together
  ///   with a transfer coding, or any coding but `chunked` (we offer no other: RFC 9112 §7.4).
  package init(
    _ head: ResponseHead, to request: ResponseReader.Request = .ordinary
  ) throws(HeadViolation) {
    if head.status < 200 || request == .connect && head.status < 300 { return }
    let isWithoutBody = head.status == 204 || head.status == 304 || request == .head
    do throws(HeadViolation) {
      try read(head)
    } catch {
      guard isWithoutBody else { throw error }
      self = Self()
      isContradictory = true
    }
    if isWithoutBody {
      announcesMissingBody = isContradictory || head.status == 204 && (isChunked || contentLength ?? 0 > 0)
    }
  }

  private mutating func read(_ head: ResponseHead) throws(HeadViolation) {
    var codings: [String] = []
    for field in head.fields {
      // Few other names have one of these lengths.
      switch field.name.utf8.count {
      case 14 where field.name.isASCII("content-length"): try addLength(field.value)
      case 16 where field.name.isASCII("content-encoding"):
        hasContentEncoding = hasContentEncoding || !FieldSyntax.isNoContentCoding(field.value)
      case 17 where field.name.isASCII("transfer-encoding"):
        hasTransferEncoding = true
        codings += field.value.isASCII("chunked") ? ["chunked"] : Self.codings(field.value)
      default: break
      }
    }
    if hasTransferEncoding { try checkCodings(codings, version: head.version) }
  }

  private mutating func addLength(_ text: String) throws(HeadViolation) {
    var value: Int64?
    var isOver = false
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39 where !isOver:
        let (product, overflow) = (value ?? 0).multipliedReportingOverflow(by: 10)
        let (sum, overflows) = product.addingReportingOverflow(Int64(byte - 0x30))
        guard !overflow, !overflows else { throw Self.noNumber(text) }
        value = sum
      case 0x20, 0x09: isOver = value != nil
      case 0x2C:  // RFC 9110 §8.6: a list of equal values may be taken as one.
        try addLength(value, of: text)
        value = nil
        isOver = false
      default: throw Self.noNumber(text)
      }
    }
    try addLength(value, of: text)
  }

  private mutating func addLength(_ value: Int64?, of text: String) throws(HeadViolation) {
    guard let value else { throw Self.noNumber(text) }
    if let contentLength, contentLength != value {
      throw HeadViolation(.contentLength, "several Content-Length values contradict each other")
    }
    contentLength = value
  }

  private static func noNumber(_ text: String) -> HeadViolation {
    HeadViolation(.contentLength, "Content-Length \(text.unicodeScalars.shown) is not a number from 0 to 2^63 - 1")
  }

  private mutating func checkCodings(_ codings: [String], version: (major: UInt8, minor: UInt8)) throws(HeadViolation) {
    guard version.major == 1, version.minor >= 1 else {
      throw HeadViolation(.transferEncoding, "Transfer-Encoding does not exist in this version of HTTP")
    }
    guard contentLength == nil else {
      throw HeadViolation(.transferEncoding, "Content-Length and Transfer-Encoding contradict each other")
    }
    guard codings == ["chunked"] else {
      throw HeadViolation(.transferEncoding, "Transfer-Encoding is not \"chunked\", once")
    }
    isChunked = true
  }

  private static func codings(_ list: String) -> [String] {
    list.lowercased().split(separator: ",", omittingEmptySubsequences: false)
      .map { String(Substring($0.utf8.withoutSpaces)) }
  }
}
