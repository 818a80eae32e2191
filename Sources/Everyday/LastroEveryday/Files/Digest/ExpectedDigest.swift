// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The digest that a file must have, in hexadecimal of either case.
struct ExpectedDigest {
  let algorithm: HashAlgorithm
  let text: String

  /// The length of the algorithm's digests in bytes.
  private var length: Int { algorithm == .sha512 ? 64 : 32 }

  /// The bytes of the digest; `nil` unless the text has the right number of hexadecimal digits.
  var bytes: [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count == 2 * length else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = Self.value(digits[index]), let low = Self.value(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  func check() throws(TransportError) {
    guard bytes == nil else { return }
    throw .refused(
      .invalidOption, "\"\(text.prefix(20).escapedForDisplay)\" is not a \(algorithm) digest",
      hint: "give its \(2 * length) hexadecimal digits")
  }
}
