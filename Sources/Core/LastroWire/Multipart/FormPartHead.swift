// SPDX-License-Identifier: Apache-2.0

/// Writes the framing around the bodies of a form's parts (RFC 7578, with the escaping of the HTML standard's
/// "multipart/form-data encoding algorithm", which browsers use).
package struct FormPartHead: Equatable, Sendable {
  package var name: String
  package var filename: String?
  package var contentType: String?
  /// Additional fields besides `Content-Disposition` and `Content-Type`. They must have been validated.
  package var fields: [ResponseHead.Field]

  package init(
    name: String, filename: String? = nil, contentType: String? = nil, fields: [ResponseHead.Field] = []
  ) {
    self.name = name
    self.filename = filename
    self.contentType = contentType
    self.fields = fields
  }

  /// Returns the delimiter line and the head, including its empty line. The part's body and ``end`` follow.
  package func bytes(_ boundary: MultipartBoundary) -> [UInt8] {
    var text = "--\(boundary.text)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(Self.normalized(name)))\""
    if let filename { text += "; filename=\"\(Self.escaped(filename))\"" }
    text += "\r\n"
    if let contentType { text += "Content-Type: \(contentType)\r\n" }
    for field in fields { text += "\(field.name): \(field.value)\r\n" }
    return Array(text.utf8) + Self.end
  }

  /// The end of a line, and of a body.
  package static let end: [UInt8] = [0x0D, 0x0A]

  /// Returns the last line of the message.
  package static func close(_ boundary: MultipartBoundary) -> [UInt8] { Array("--\(boundary.text)--\r\n".utf8) }

  /// Returns the text with CRLF in place of each lone CR or LF, as browsers send names and texts.
  package static func normalized(_ text: String) -> String {
    // Compare bytes, because CRLF is a single `Character`.
    guard text.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A }) else { return text }
    var result: [UInt8] = []
    var previous: UInt8 = 0
    for byte in text.utf8 {
      if previous == 0x0D, byte != 0x0A { result.append(0x0A) }
      if byte == 0x0A, previous != 0x0D { result.append(0x0D) }
      result.append(byte)
      previous = byte
    }
    if previous == 0x0D { result.append(0x0A) }
    return String(decoding: result, as: UTF8.self)
  }

  /// Escapes bytes that would end the quoted string or the line, as browsers do. Backslashes are unchanged.
  static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: { [0x22, 0x0D, 0x0A].contains($0) }) else { return text }
    var result: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x22: result += "%22".utf8
      case 0x0D: result += "%0D".utf8
      case 0x0A: result += "%0A".utf8
      default: result.append(byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
