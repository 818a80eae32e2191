// SPDX-License-Identifier: Apache-2.0

/// Percent-encoding (RFC 3986 §2.1) that leaves alone what is encoded already.
enum PercentEncoding {
  /// Encodes every byte that `isAllowed` does not name.
  ///
  /// - Parameter keepsTriplets: whether a valid `%XX` stays as it is; a stray `%` becomes `%25` either way.
  static func encode(
    _ text: some StringProtocol, keepsTriplets: Bool, where isAllowed: (UInt8) -> Bool
  ) -> String {
    let bytes = Array(text.utf8)
    if bytes.allSatisfy(isAllowed) { return String(text) }
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count + 16)
    for (index, byte) in bytes.enumerated() {
      let isTriplet =
        keepsTriplets && byte == 0x25 && index + 2 < bytes.count && ByteClass.isHexDigit(bytes[index + 1])
        && ByteClass.isHexDigit(bytes[index + 2])
      if isTriplet || byte != 0x25 && isAllowed(byte) {
        result.append(byte)
      } else {
        result += [0x25, hex(byte >> 4), hex(byte & 0x0F)]
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Undoes the encoding; `nil` when the result is no UTF-8 or a triplet is broken.
  static func decode(_ text: some StringProtocol) -> String? {
    guard text.utf8.contains(0x25) else { return String(text) }
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      guard bytes[index] == 0x25 else {
        result.append(bytes[index])
        index += 1
        continue
      }
      guard index + 2 < bytes.count, let high = value(bytes[index + 1]), let low = value(bytes[index + 2]) else {
        return nil
      }
      result.append(high << 4 | low)
      index += 3
    }
    return String(validating: result, as: UTF8.self)
  }

  private static func hex(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x37 + nibble }

  private static func value(_ byte: UInt8) -> UInt8? {
    guard ByteClass.isHexDigit(byte) else { return nil }
    return ByteClass.isDigit(byte) ? byte - 0x30 : (byte | 0x20) - 0x57
  }
}

extension String {
  /// This text as one segment of a path: everything but letters, digits and `-._~` percent-encoded, `/` too.
  ///
  /// For values put into a path: `"/repos/\(owner.asPathSegment)/\(name.asPathSegment)"`. The segments `.` and `..`
  /// cannot be written as text, whatever the encoding: servers resolve them.
  public var asPathSegment: String {
    PercentEncoding.encode(self, keepsTriplets: false, where: ByteClass.isUnreserved)
  }
}
