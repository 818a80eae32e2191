// SPDX-License-Identifier: Apache-2.0

/// What separates the parts of a message of several (RFC 2046 §5.1.1).
package struct MultipartBoundary: Equatable, Sendable {
  /// Letters and digits of a boundary that is drawn: 142 bits, above the 128 that no attacker guesses.
  private static let drawnLength = 24
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

  /// The boundary, of 1 to 70 characters, without the dashes in front.
  package let text: String

  /// A boundary of a message that is written: `bchars`, of which the last is not a space. `nil` for others.
  package init?(_ text: String) {
    guard Self.isReadable(text), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
    self.text = text
  }

  /// A boundary of a message that is read: servers have been seen to use more characters than they may.
  package init?(reading text: String) {
    guard Self.isReadable(text), text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    self.text = text
  }

  /// Draws one that needs no quotes.
  package init(drawnFrom word: () -> UInt64) {
    var digits = Array("lastro-".utf8)
    var bits: UInt64 = 0
    for index in 0..<Self.drawnLength {
      if index % 8 == 0 { bits = word() }
      // 62 into 2^64 leaves no letter noticeably more often than another.
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

  /// As the value of a parameter of `Content-Type`, in quotes where it needs them.
  package var parameter: String { text.utf8.allSatisfy(FieldSyntax.isToken) ? text : "\"\(text)\"" }
}
