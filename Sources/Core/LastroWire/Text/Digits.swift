// SPDX-License-Identifier: Apache-2.0

extension FixedWidthInteger {
  /// Parses one or more ASCII digits. A number that does not fit becomes the maximum. Returns `nil` for any other text.
  package init?(clampingDigits digits: some Collection<UInt8>) {
    guard !digits.isEmpty, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    self = Self(String(decoding: digits, as: UTF8.self)) ?? .max
  }
}

extension UInt8 {
  /// The value of an ASCII hexadecimal digit; `nil` for any other byte.
  package var hexadecimalValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x37
    case 0x61...0x66: self - 0x57
    default: nil
    }
  }
}
