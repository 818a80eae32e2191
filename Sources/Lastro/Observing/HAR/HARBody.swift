// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A body as an archive has it: text or base64, bounded, masked.
struct HARBody {
  var text: String?
  var encoding: String?
  var comment: String?
  var isTruncated = false

  init(_ data: Data, limit: Int, redaction: Redaction?) {
    isTruncated = data.count > limit
    if isTruncated { comment = "cut off after \(limit) of \(data.count) bytes" }
    // Masked before it is cut: a secret that is cut in two is none that can be told.
    if let text = String(validating: data, as: UTF8.self), !text.utf8.contains(0) {
      let masked = redaction.map { HARForm.masked(text, by: $0) } ?? text
      self.text = isTruncated ? Self.prefix(masked, limit) : masked
    } else {
      encoding = "base64"
      text = (Self.masked(data, redaction) ?? data).prefix(limit).base64EncodedString()
    }
  }

  /// Names and values can stand in binary bodies too, such as forms with files in them. Each byte is taken for a character.
  private static func masked(_ data: Data, _ redaction: Redaction?) -> Data? {
    guard let redaction else { return nil }
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: data.lazy.map { Unicode.Scalar($0) })
    let text = String(scalars)
    let masked = HARForm.masked(text, by: redaction)
    guard masked.utf8.count != text.utf8.count || masked != text else { return nil }
    return Data(masked.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
  }

  private static func prefix(_ text: String, _ limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    // Not within a character.
    var end = text.utf8.index(text.startIndex, offsetBy: limit)
    while end > text.startIndex, String.Index(end, within: text) == nil { end = text.utf8.index(before: end) }
    return String(text[..<end])
  }
}
