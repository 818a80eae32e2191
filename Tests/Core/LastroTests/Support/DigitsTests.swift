// SPDX-License-Identifier: Apache-2.0

import LastroSupport
import Testing

@Suite("Numbers of digits only")
struct DigitsTests {
  @Test("Digits are read in their base, and any other text and a number that does not fit are refused")
  func decimal() {
    let rows: [(String, UInt8?)] = [
      ("0", 0), ("007", 7), ("255", 255), ("256", nil), ("", nil), ("+1", nil), ("-1", nil), ("-0", nil), ("+", nil),
      (" 1", nil), ("1 ", nil), ("1.0", nil), ("0x1", nil), ("a", nil), ("٣", nil), ("１", nil),
    ]
    for (text, number) in rows { #expect(UInt8(digits: text) == number, "\(text)") }
    #expect(Int(digits: "12ab".prefix(2)) == 12)
  }

  @Test("Hexadecimal digits have either case, and no sign or prefix")
  func hexadecimal() {
    let rows: [(String, Int?)] = [
      ("fF", 255), ("0", 0), ("+f", nil), ("-f", nil), ("0xf", nil), ("g", nil), ("Ｆ", nil),
    ]
    for (text, number) in rows { #expect(Int(digits: text, radix: 16) == number, "\(text)") }
  }
}
