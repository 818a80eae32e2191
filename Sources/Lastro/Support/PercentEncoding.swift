// SPDX-License-Identifier: Apache-2.0

extension String {
  /// The string as one segment of an endpoint's path: everything but `A–Z a–z 0–9 - . _ ~` percent-encoded as UTF-8.
  ///
  /// Use it for what is interpolated and not under your control, so that it cannot add segments or a query:
  /// `"/users/\(name.pathSegment)/repos"` keeps `a/b?c` in its place as `a%2Fb%3Fc`.
  ///
  /// The segments `.` and `..` mean something to servers, encoded or not; they come out as `%2E` and `%2E%2E`, and a
  /// name that may be one of them is better refused. This is RFC 6570's simple string expansion.
  public var pathSegment: String {
    switch self {
    case ".": return "%2E"
    case "..": return "%2E%2E"
    default: return percentEncoded(keeping: .unreserved)
    }
  }

  /// Every byte of the UTF-8 form that is not in `kept`, percent-encoded; `%` itself is encoded too.
  package func percentEncoded(keeping kept: ByteSet) -> String {
    guard !utf8.allSatisfy(kept.contains) else { return self }
    var result = ""
    result.reserveCapacity(utf8.count + 16)
    for byte in utf8 { result.append(byte, keeping: kept) }
    return result
  }

  /// Adds one byte of UTF-8, percent-encoded unless it is in `kept`.
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
  /// As a part of a URL: valid percent-encoding stays as written, and so does what is in `kept`; anything else,
  /// a stray `%` included, is percent-encoded.
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

  /// The bytes that percent-encoding stands for; `nil` for a stray `%`.
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
  /// The first byte of the UTF-8 form that is such; read from memory in one piece, as texts nearly always are stored.
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
  /// Value of an ASCII hexadecimal digit.
  var hexadecimalValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - 48
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - 87
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - 55
    default: nil
    }
  }

  /// Whether it is an ASCII digit.
  package var isDigit: Bool { self &- 48 < 10 }

  /// ASCII upper case made lower.
  var lowercasedASCII: UInt8 { self &- 65 < 26 ? self | 32 : self }
}
