// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The digest that a file must have, in hexadecimal.
public struct ExpectedDigest: Sendable, Hashable, CustomStringConvertible {
  let algorithm: HashAlgorithm
  let text: String

  /// Returns an expected SHA-256 digest (FIPS 180-4): 64 hexadecimal digits of either case. Any other text fails the
  /// transfer before a request is sent.
  public static func sha256(_ hexadecimal: String) -> Self { Self(algorithm: .sha256, text: hexadecimal) }

  /// Returns an expected SHA-512 digest (FIPS 180-4): 128 hexadecimal digits of either case. Any other text fails the
  /// transfer before a request is sent.
  public static func sha512(_ hexadecimal: String) -> Self { Self(algorithm: .sha512, text: hexadecimal) }

  /// The algorithm and the digest, such as `SHA-256 9f86…`.
  public var description: String { "\(algorithm) \(text)" }

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
