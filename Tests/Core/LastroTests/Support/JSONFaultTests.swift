// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import TestSupport
import Testing

@Suite("Offsets at which text stops being JSON")
struct JSONFaultTests {
  @Test(
    "The offset is that of the first byte that is not allowed there",
    arguments: [
      ("", 0), ("{", 1), ("{\"a\":1,\"b\":[1,2", 15), ("{\"a\":1,,", 7), ("[1 2]", 3), ("{\"a\" 1}", 5), ("tru", 3),
      ("nul]", 3), ("\"abc", 4), ("\"a\\x\"", 3), ("\"\\u12G4\"", 5), ("01", 1), ("1.", 2), ("1e+", 3), ("-", 1),
      ("[1,]", 3), ("{\"a\":1}x", 7), ("<html>", 0), ("[}", 1), ("\"a\nb\"", 2),
    ])
  func faults(text: String, offset: Int) {
    #expect(JSONFault.offset(in: Array(text.utf8)) == offset, "\(text)")
  }

  /// Foundation accepts a comma after the last element, which RFC 8259 §4 and §5 do not allow.
  @Test("It agrees with Foundation on randomly changed texts, except for a trailing comma")
  func agrees() throws {
    let whole = Array(#"{"a":[1,-2.5e3,true,null,{"é":"\u00e9\n"}],"b":{},"c":[],"d":"x"}"#.utf8)
    #expect(JSONFault.offset(in: whole) == nil)
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<20_000 {
      var bytes = whole
      let index = Int.random(in: 0..<bytes.count, using: &generator)
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: bytes.remove(at: index)
      case 1: bytes.insert(Array("{}[],:\"0e.tn \\".utf8).randomElement(using: &generator) ?? 0, at: index)
      default: bytes.removeSubrange(index...)
      }
      guard String(validating: bytes, as: UTF8.self) != nil else { continue }
      let isJSON = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
      let text = String(decoding: bytes, as: UTF8.self)
      let hasLastComma = text.contains(",]") || text.contains(",}")
      #expect((JSONFault.offset(in: bytes) == nil) == (isJSON && !hasLastComma), "\(text)")
    }
  }
}
