// SPDX-License-Identifier: Apache-2.0

/// The boundary that separates the parts of a multipart message (RFC 2046 §5.1.1).
package struct MultipartBoundary: Equatable, Sendable {
  /// The number of letters and digits in a random boundary: 142 bits, above the 128 that cannot be guessed.
  private static let drawnLength = 24
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

  /// The boundary: 1 to 70 characters, without the leading dashes.
  package let text: String

  /// Creates the boundary of a message to write: `bchars`, not ending in a space. `nil` for any other text.
  package init?(_ text: String) {
    guard Self.isReadable(text), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
    self.text = text
  }

  /// Creates the boundary of a message to read. It accepts more characters than allowed, because some servers use them.
  package init?(reading text: String) {
    guard Self.isReadable(text), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    self.text = text
  }

  /// Creates a random boundary that needs no quotes.
  package init(drawnFrom word: () -> UInt64) {
    var digits = Array("lastro-".utf8)
    var bits: UInt64 = 0
    for index in 0..<Self.drawnLength {
      if index % 8 == 0 { bits = word() }
      // The bias of 62 into 2^64 is negligible.
      let (rest, digit) = bits.quotientAndRemainder(dividingBy: UInt64(Self.alphabet.count))
      bits = rest
      digits.append(Self.alphabet[Int(digit)])
    }
    text = String(decoding: digits, as: UTF8.self)
  }

  private static func isReadable(_ text: String) -> Bool {
    (1...70).contains(text.utf8.count) && text.utf8.last != 0x20
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    alphabet.contains(byte) || "'()+_,-./:=? ".utf8.contains(byte)
  }

  /// The value of the `boundary` parameter of `Content-Type`, quoted if necessary.
  package var parameter: String { text.utf8.allSatisfy(FieldSyntax.isToken) ? text : "\"\(text)\"" }
}
