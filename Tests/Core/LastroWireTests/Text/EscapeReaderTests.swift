// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Escapes of secrets")
struct EscapeReaderTests {
  @Test(
    "Numbers in escapes are digits",
    arguments: [
      ("&#65;", "A"), ("&#x41;", "A"), ("&#X4a;", "J"), ("%41", "A"), ("\\u0041", "A"), ("\\u{41}", "A"),
    ])
  func digits(text: String, expected: String) {
    let reading = EscapeReading(bytes: Array(expected.utf8), end: text.utf8.count)
    #expect(EscapeReader.readings(Array(text.utf8), at: 0) == [reading])
  }

  @Test(
    "A number with a sign, or without digits, is no escape",
    arguments: [
      "&#+65;", "&#-0;", "&#x+41;", "&#x-0;", "&#X+4a;", "&#;", "&#x;", "&#xg;", "&#a;", "%+4", "%-0", "\\u+041",
      "\\u{+41}", "\\u{-0}",
    ])
  func signs(text: String) {
    #expect(EscapeReader.readings(Array(text.utf8), at: 0).isEmpty)
  }
}
