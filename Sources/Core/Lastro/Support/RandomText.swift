// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// Random texts of the system's generator that others cannot guess.
package enum RandomText {
  /// Returns random bits in Base64 for URLs: by default 128 of them, enough for an identifier.
  package static func make(bytes: Int = 16) -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<bytes).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }.base64URL
  }
}

extension [UInt8] {
  /// Reads Base64 for URLs without padding; `nil` if a character does not belong to it.
  package init?(base64URL text: some Sequence<UInt8>) {
    let bytes = Base64.decode(
      text.lazy.map { byte in
        switch byte {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: byte
        }
      })
    guard let bytes else { return nil }
    self = bytes
  }

  /// The bytes in Base64 for URLs, without padding (RFC 4648 §5).
  package var base64URL: String {
    String(
      decoding: Base64.encode(self).utf8.compactMap { byte -> UInt8? in
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        case UInt8(ascii: "="): nil
        default: byte
        }
      }, as: UTF8.self)
  }
}
