// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import Lastro

/// A body in the form of an archive: text or base64, limited in size, masked.
struct HARBody {
  var text: String?
  var encoding: String?
  var comment: String?
  var isTruncated = false

  /// The number of bytes beyond the limit that are masked too, so that most values at the limit are seen whole.
  static let slack = 16 * 1024

  /// - Parameter isCoded: whether the message has a `Content-Encoding`. Without a redaction it has no effect.
  init(_ data: Data, limit: Int, redaction: Redaction?, isCoded: Bool = false) {
    isTruncated = data.count > limit
    if isTruncated { comment = "cut off after \(limit) of \(data.count) bytes" }
    // Mask before cutting: a secret that is cut in two would not be recognised. Bytes far beyond the limit are not
    // examined, because this runs on the task of the call.
    let isCut = data.count - Self.slack > limit
    let head = isCut ? data.prefix(limit + Self.slack) : data
    // The last bytes before a cut may be half of a secret, and masks may have moved them before the limit.
    func bound(_ count: Int) -> Int { min(limit, isCut ? max(0, count - Self.slack) : count) }
    if let text = Self.text(head, isCut: isCut) {
      let masked = redaction.map { Self.masked(text, $0, isCut: isCut) } ?? text
      self.text = isTruncated ? Self.prefix(masked, bound(masked.utf8.count)) : masked
    } else if isCoded, redaction != nil {
      // The names and secrets in compressed bytes are not found, but a reader can decompress them.
      (isTruncated, comment) = (true, "bytes with a Content-Encoding, in which secrets cannot be masked")
    } else {
      encoding = "base64"
      let masked = Self.masked(head, redaction, isCut: isCut) ?? head
      text = masked.prefix(bound(masked.count)).base64EncodedString()
    }
  }

  private static func text(_ data: Data, isCut: Bool) -> String? {
    guard !data.contains(0) else { return nil }
    // The cut may split a character, of which at most three bytes then remain.
    for count in 0...(isCut ? min(3, data.count) : 0) {
      if let text = String(validating: data.dropLast(count), as: UTF8.self) { return text }
    }
    return nil
  }

  private static func masked(_ text: String, _ redaction: Redaction, isCut: Bool) -> String {
    if !isCut, let json = HARJSON.masked(text, by: redaction) ?? HARJSON.maskedLines(text, by: redaction) {
      return json
    }
    return HARForm.masked(HARXML.masked(text, by: redaction) ?? text, by: redaction, isCut: isCut)
  }

  /// Masks a binary body, which may contain names and values too, such as a form with files.
  private static func masked(_ data: Data, _ redaction: Redaction?, isCut: Bool) -> Data? {
    guard let redaction else { return nil }
    let text = characters(of: data)
    let masked = HARForm.masked(text, by: redaction, isCut: isCut)
    guard masked.utf8.count != text.utf8.count || masked != text else { return nil }
    return Data(masked.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
  }

  /// Returns each byte as the character with that number.
  static func characters(of bytes: Data) -> String {
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
    return String(scalars)
  }

  private static func prefix(_ text: String, _ limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    // Do not cut within a character.
    var end = text.utf8.index(text.startIndex, offsetBy: limit)
    while end > text.startIndex, String.Index(end, within: text) == nil { end = text.utf8.index(before: end) }
    return String(text[..<end])
  }
}
