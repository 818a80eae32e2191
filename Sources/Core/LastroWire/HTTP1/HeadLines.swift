// SPDX-License-Identifier: Apache-2.0

/// The parser for `HTTP-version SP status-code [ SP reason-phrase ]` (RFC 9112 §4).
enum StatusLine {
  static func parse(_ line: UnsafeRawBufferPointer) throws(HeadViolation) -> ResponseHead {
    let version = try version(line)
    let start = version.minor == nil ? 7 : 9  // after "HTTP/2 " or "HTTP/1.1 "
    guard line.count >= start + 3, line[start - 1] == 0x20 else {
      throw HeadViolation(.statusLine, "the status line has no status")
    }
    var status = 0
    for byte in line[start..<start + 3] {
      guard (0x30...0x39).contains(byte) else { throw noDigits(line[start...]) }
      status = status * 10 + Int(byte - 0x30)
    }
    guard status >= 100 else { throw HeadViolation(.statusLine, "the status \(status) is outside 100-999") }
    let rest = UnsafeRawBufferPointer(rebasing: line[(start + 3)...])
    guard rest.isEmpty || rest[0] == 0x20 else { throw noDigits(line[start...]) }
    let reason = rest.isEmpty ? "" : try FieldLine.value(UnsafeRawBufferPointer(rebasing: rest[1...]))
    return ResponseHead(version: (version.major, version.minor ?? 0), status: status, reason: reason)
  }

  /// Returns the violation for a malformed status.
  ///
  /// - Parameter rest: the line from the status on.
  private static func noDigits(_ rest: Slice<UnsafeRawBufferPointer>) -> HeadViolation {
    let status = rest.prefix { $0 != 0x20 }.lazy.map { Unicode.Scalar($0) }.shown
    return HeadViolation(.statusLine, "the status \(status) is not three digits")
  }

  /// Returns whether the bytes may be the beginning of a status line.
  static func mayBegin(with bytes: UnsafeRawBufferPointer) -> Bool {
    name.withUTF8Buffer { $0.prefix(bytes.count).elementsEqual(bytes.prefix($0.count)) }
  }

  private static let name: StaticString = "HTTP/"

  static let isMissing = HeadViolation(
    .statusLine, "the response does not begin with \"HTTP/\"")

  private static func version(_ line: UnsafeRawBufferPointer) throws(HeadViolation) -> (major: UInt8, minor: UInt8?) {
    guard line.count >= 5, mayBegin(with: line) else { throw isMissing }
    if line.count >= 6 {
      switch line[5] {
      case 0x31 where line.count >= 8 && line[6] == 0x2E && (line[7] == 0x30 || line[7] == 0x31):  // 1.0, 1.1
        return (1, line[7] - 0x30)
      case 0x32, 0x33: return (line[5] - 0x30, nil)
      default: break
      }
    }
    throw HeadViolation(.statusLine, "the status line does not begin with a known HTTP version")
  }
}

/// The parser for `field-name ":" OWS field-value OWS` (RFC 9112 §5).
package enum FieldLine {
  static func parse(_ line: UnsafeRawBufferPointer) throws(HeadViolation) -> ResponseHead.Field {
    var colon = 0
    while colon < line.count, FieldSyntax.isToken(line[colon]) { colon += 1 }
    guard colon > 0, colon < line.count, line[colon] == 0x3A else {
      throw HeadViolation(
        .fieldName,
        line.contains(0x3A)
          ? "a field name is empty or contains invalid characters" : "a field line has no colon")
    }
    return ResponseHead.Field(
      name: text(UnsafeRawBufferPointer(rebasing: line[..<colon])),
      value: try value(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...])))
  }

  /// Returns the text without surrounding white space. Bytes that are not UTF-8 are decoded as ISO 8859-1, their
  /// historical encoding.
  package static func value(_ bytes: UnsafeRawBufferPointer) throws(HeadViolation) -> String {
    var start = 0
    var end = bytes.count
    while start < end, bytes[start].isSpace { start += 1 }
    while end > start, bytes[end - 1].isSpace { end -= 1 }
    let content = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    let (isValid, isASCII) = content.isFieldValue()
    guard isValid else { throw HeadViolation(.fieldValue, "a field value has a control character") }
    if isASCII { return text(content) }
    if let string = String(validating: content, as: UTF8.self) { return string }
    return String(String.UnicodeScalarView(content.map { Unicode.Scalar($0) }))
  }

  /// Returns whether a line is a `Set-Cookie` field whose value has control characters, but none that could end a line
  /// or a string for another reader: no CR, LF or NUL.
  static func isSpoiltCookie(_ line: UnsafeRawBufferPointer) -> Bool {
    guard let colon = line.firstIndex(of: 0x3A) else { return false }
    return isSpoiltCookie(
      UnsafeRawBufferPointer(rebasing: line[..<colon]), UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
  }

  /// Returns whether a field is a `Set-Cookie` that a client must ignore (RFC 6265bis §5.6). It can be ignored safely
  /// because every reader agrees on where the field ends.
  package static func isSpoiltCookie(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
    name.count == 10 && text(name).isASCII("set-cookie") && !value.isFieldValue().isValid
      && !value.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 }
  }

  /// Returns the text of bytes that are known to be ASCII.
  package static func text(_ bytes: UnsafeRawBufferPointer) -> String {
    // Decode from typed memory: the standard library is many times slower for raw memory.
    String(decoding: bytes.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
  }
}
