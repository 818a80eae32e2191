// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The beginning of a body as it may stand in an error: bounded, with the values of secret-looking fields masked.
public struct BodySnippet: Sendable, Hashable, CustomStringConvertible {
  /// The text; `<n bytes, not text>` for a body that is not UTF-8.
  public let text: String
  /// Number of bytes of the whole body.
  public let byteCount: Int

  /// `text`, and how much was left out.
  public var description: String { text }

  /// Type of a body that is not of JSON, and the beginning of a page in its place; `nil` of one that may be. Of text
  /// that is no page only the type is told: it may be a token, or what is personal.
  func foreign(to fields: HTTPFields) -> String? {
    guard let type = fields[.contentType]?.prefix(while: { $0 != ";" }).prefix(60),
      !type.lowercased().contains("json"), byteCount > 0
    else { return nil }
    guard text.first(where: { !$0.isWhitespace }) == "<" else { return String(type) }
    let line = text.onOneLine
    return "\(type), and begins with \(line.prefix(40))\(line.count > 40 ? "…" : "")"
  }

  init(_ body: some Collection<UInt8>, limit: Int, redaction: Redaction = .standard) {
    byteCount = body.count
    var head = Array(body.prefix(max(0, limit)))
    let isCut = head.count < body.count
    // A cut in the middle of a character must not make text look binary.
    if isCut, let lead = head.lastIndex(where: { $0 & 0xC0 != 0x80 }), head[lead] >= 0xC0,
      head.count - lead < (head[lead] >= 0xF0 ? 4 : head[lead] >= 0xE0 ? 3 : 2)
    {
      head.removeSubrange(lead...)
    }
    guard let decoded = String(validating: head, as: UTF8.self), !decoded.utf8.contains(0) else {
      text = "<\(body.count) bytes, not text>"
      return
    }
    text = redaction.text(decoded, isCut: isCut) + (isCut ? "… (\(body.count) bytes)" : "")
  }
}
