// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroFleet

let testKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

@Suite("Keys that seal tokens")
struct SealingKeyTests {
  @Test("A sealed message can be opened with the same key only, differs each time, and notices every changed byte")
  func sealing() throws {
    let key = try SealingKey(base64: Secret(testKey))
    let other = try SealingKey(base64: Secret("B" + testKey.dropFirst()))
    for message in [[], Array("a token".utf8)] {
      let sealed = try key.sealed(message)
      #expect(try key.opened(sealed) == message)
      #expect(try other.opened(sealed) == nil)
      #expect(try key.sealed(message) != sealed)
      for place in sealed.indices {
        var changed = sealed
        changed[place] ^= 1
        #expect(try key.opened(changed) == nil)
        #expect(try key.opened(Array(sealed[..<place])) == nil)
      }
    }
  }

  @Test("A key is 32 bytes in Base64, and is never shown")
  func form() throws {
    for text in ["", "AA==", String(testKey.dropLast(2)), testKey + "A", testKey.replacing("A", with: "!")] {
      let error = #expect(throws: ConfigurationError.self) { try SealingKey(base64: Secret(text)) }
      #expect(error?.message == "the sealing key is not 32 bytes in Base64")
    }
    let key = try SealingKey(base64: Secret(testKey))
    var dumped = ""
    dump(key, to: &dumped)
    #expect("\(key)" == Redaction.mask && !dumped.contains("31"))
  }
}
