// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
internal import LastroWire

/// The beginning of a body, safe to show in an error: bounded in size, with the values of secret-looking fields masked.
package struct BodySnippet: Sendable, Hashable, CustomStringConvertible {
  /// The text; `<n bytes, not text>` for a body that is not UTF-8.
  package let text: String
  /// Whether ``text`` is the body's own, and not a placeholder.
  private let isText: Bool
  /// The number of bytes of the whole body.
  package let byteCount: Int

  /// The text. If the body was cut, it ends with the size of the whole body.
  package var description: String { text }

  /// Describes a body that is not JSON by its content type. Returns `nil` if the body is empty, has no content type, or
  /// may be JSON.
  ///
  /// For markup, the description also quotes the first 40 characters. For any other text it names only the type: the
  /// text may be a token or personal data.
  func foreign(to fields: HTTPFields) -> String? {
    guard let type = fields[.contentType]?.prefix(while: { $0 != ";" }).prefix(60),
      !type.lowercased().contains("json"), byteCount > 0
    else { return nil }
    guard isText, text.first(where: { !$0.isWhitespace }) == "<" else { return String(type) }
    let line = text.onOneLine
    return "\(type), and begins with \(line.prefix(40))\(line.count > 40 ? "…" : "")"
  }

  init(_ body: some Collection<UInt8>, limit: Int, redaction: Redaction = .standard) {
    byteCount = body.count
    var head = Array(body.prefix(max(0, limit)))
    let isCut = head.count < body.count
    // If the cut splits a character, drop the partial character: otherwise text would look binary.
    if isCut, let lead = head.lastIndex(where: { $0 & 0xC0 != 0x80 }), head[lead] >= 0xC0,
      head.count - lead < (head[lead] >= 0xF0 ? 4 : head[lead] >= 0xE0 ? 3 : 2)
    {
      head.removeSubrange(lead...)
    }
    guard let decoded = String(validating: head, as: UTF8.self), !decoded.utf8.contains(0) else {
      text = "<\(body.count.counted("byte")), not text>"
      isText = false
      return
    }
    isText = true
    text = redaction.text(decoded, isCut: isCut) + (isCut ? "… (\(body.count) bytes)" : "")
  }
}
