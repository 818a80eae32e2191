// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

extension String {
  /// The string as a segment of an endpoint's path: all characters except `A–Z a–z 0–9 - . _ ~` are percent-encoded as
  /// UTF-8.
  ///
  /// Use it for interpolated text that is not under your control, so that the text cannot add segments or a query: in
  /// `"/users/\(name.pathSegment)/repos"`, the name `a/b?c` becomes `a%2Fb%3Fc`.
  ///
  /// The segments `.` and `..` have a meaning to servers, encoded or not. They become `%2E` and `%2E%2E`; it is better
  /// to refuse a name that may be one of them. The encoding is the simple string expansion of RFC 6570.
  public var pathSegment: String {
    switch self {
    case ".": return "%2E"
    case "..": return "%2E%2E"
    default: return percentEncoded(keeping: .unreserved)
    }
  }

  /// Returns the string with every UTF-8 byte that is not in `kept` percent-encoded, including `%`.
  package func percentEncoded(keeping kept: ByteSet) -> String {
    guard !utf8.allSatisfy(kept.contains) else { return self }
    var result = ""
    result.reserveCapacity(utf8.count + 16)
    for byte in utf8 { result.append(byte, keeping: kept) }
    return result
  }

  /// The text as encoded in a form, where a space is `+` (WHATWG URL; RFC 6749 appendix B).
  var formEncoded: String {
    let kept = ByteSet.form.union(ByteSet(" "))
    return String(decoding: percentEncoded(keeping: kept).utf8.map { $0 == 0x20 ? 0x2B : $0 }, as: UTF8.self)
  }

  /// Appends a byte of UTF-8, percent-encoded unless it is in `kept`.
  package mutating func append(_ byte: UInt8, keeping kept: ByteSet) {
    if kept.contains(byte) {
      unicodeScalars.append(Unicode.Scalar(byte))
    } else {
      unicodeScalars.append("%")
      unicodeScalars.append(Self.hexadecimalDigit(byte >> 4))
      unicodeScalars.append(Self.hexadecimalDigit(byte & 15))
    }
  }

  private static func hexadecimalDigit(_ value: UInt8) -> Unicode.Scalar {
    Unicode.Scalar(value < 10 ? value + 48 : value + 55)
  }
}

extension Substring {
  /// Returns the text as a part of a URL. Valid percent-encoding and the characters in `kept` are kept as written. All
  /// others, including a stray `%`, are percent-encoded.
  package func sanitized(keeping kept: ByteSet) -> String {
    if utf8.allSatisfy(kept.contains) { return String(self) }
    var result = ""
    result.reserveCapacity(utf8.count + 16)
    let bytes = utf8
    var index = bytes.startIndex
    while index < bytes.endIndex {
      if bytes[index] == UInt8(ascii: "%"), bytes[index...].startsWithPercentEncoding {
        result.unicodeScalars.append("%")
      } else {
        result.append(bytes[index], keeping: kept)
      }
      bytes.formIndex(after: &index)
    }
    return result
  }

  /// The bytes after percent-decoding; `nil` for a stray `%`.
  package var percentDecodedBytes: [UInt8]? {
    guard utf8.contains(UInt8(ascii: "%")) else { return Array(utf8) }
    var result: [UInt8] = []
    result.reserveCapacity(utf8.count)
    var rest = utf8[...]
    while let byte = rest.first {
      if byte == UInt8(ascii: "%") {
        guard let value = rest.percentEncodedByte else { return nil }
        result.append(value)
        rest = rest.dropFirst(3)
      } else {
        result.append(byte)
        rest = rest.dropFirst()
      }
    }
    return result
  }
}

extension String {
  /// Returns the first byte of the UTF-8 form that satisfies the predicate. It reads contiguous storage directly, which
  /// nearly every string has.
  func firstByte(where isSuch: (UInt8) -> Bool) -> UInt8? {
    utf8.withContiguousStorageIfAvailable { $0.first(where: isSuch) } ?? utf8.first(where: isSuch)
  }
}

extension Substring.UTF8View {
  fileprivate var startsWithPercentEncoding: Bool { percentEncodedByte != nil }

  fileprivate var percentEncodedByte: UInt8? {
    var digits = dropFirst().makeIterator()
    guard let high = digits.next()?.hexadecimalValue, let low = digits.next()?.hexadecimalValue else { return nil }
    return high << 4 | low
  }
}

extension UInt8 {
  /// Whether the byte is an ASCII digit.
  package var isDigit: Bool { self &- 48 < 10 }

  /// The byte with an ASCII upper-case letter made lower case.
  var lowercasedASCII: UInt8 { self &- 65 < 26 ? self | 32 : self }
}
