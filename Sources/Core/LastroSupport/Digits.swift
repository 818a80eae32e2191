// SPDX-License-Identifier: Apache-2.0

extension FixedWidthInteger {
  /// Parses a number that consists of ASCII digits only. Returns `nil` for any other text, and for a number that does
  /// not fit.
  ///
  /// Grammars of protocols do not allow a sign, which `init(_:radix:)` accepts: "+5" is 5 there, and "-0" is 0.
  ///
  /// - Parameter radix: the base, from 2 to 36. Default 10.
  package init?(digits text: some StringProtocol, radix: Int = 10) {
    guard let first = text.utf8.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else { return nil }
    self.init(text, radix: radix)
  }
}
