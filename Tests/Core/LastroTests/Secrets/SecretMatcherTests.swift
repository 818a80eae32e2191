// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import Lastro

@Suite("Secrets by value", .ownThread)
struct SecretMatcherTests {
  static let texts = [
    "s3cr3t-t0ken", "p@ss w\"rd", "100%25 /?&=+#", "naïve 🔑 key", #"back\slash\\"quoted""#, "a'b'c'd<e>&amp;", "%%%%",
    "\\\\\\\\\\\\", "    ", "++++", "line\nbreak\ttab\r\u{8}\u{c}", "e\u{301}te\u{301}", "abcd",
  ]

  @Test("Secrets are found in every notation", arguments: texts)
  func notations(text: String) {
    let redaction = Redaction.off.adding([Secret(text)])
    for (name, written) in SecretNotation.all(of: text) {
      let masked = redaction.text("before <" + written + "> after")
      #expect(!masked.hasBytes(of: written), "\(name): \(masked)")
      #expect(masked.hasPrefix("before <") && masked.hasSuffix("> after"), "\(name): \(masked)")
    }
  }

  @Test("Random secrets are found in every notation within random text", arguments: 0..<40)
  func randomSecrets(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<10 {
      let text = Self.randomText(4...24, using: &random)
      let redaction = Redaction.standard.adding([Secret(text), Secret(Self.randomText(4...12, using: &random))])
      let around = Self.randomText(0...12, using: &random)
      for (name, written) in SecretNotation.all(of: text) {
        let masked = redaction.text(around + "\n" + written + "\n" + around)
        // If the surrounding text contains the secret by chance, it is masked there, too.
        #expect(!masked.hasBytes(of: written), "\(name) of \(text.debugDescription): \(masked)")
      }
    }
  }

  /// Returns random text of difficult characters: quotes, escapes, blanks, delimiters, combining marks, and scalars
  /// beyond 16 bits.
  static func randomText(_ length: ClosedRange<Int>, using random: inout SeededGenerator) -> String {
    let alphabet = Array("abcXYZ0189 %%%+&=?#/\\\\\"'<>{}[];:@,.~_-éüß漢字🔑👩‍💻\u{301}\u{200B}\n\t".unicodeScalars)
    var text = ""
    for _ in 0..<Int.random(in: length, using: &random) {
      if let scalar = alphabet.randomElement(using: &random) { text.unicodeScalars.append(scalar) }
    }
    return text
  }

  @Test("Text that is not secret stays unchanged")
  func nothingElse() {
    let redaction = Redaction.off.adding(["s3cr3t-t0ken", "p@ss w\"rd"])
    let text = #"s3cr3t-t0ke p@ss+w"r %73%33 \u0073 {"a":"b\/c\\"} 100% &amp; &#; \u{} \uD83D \"#
    #expect(redaction.text(text) == text)
    #expect(Redaction.off.text(text) == text)
  }

  @Test("Overlapping and nested secrets are masked as a whole")
  func overlaps() {
    let redaction = Redaction.off.adding(["abcdef", "defghi", "cdef", "abcdefgh-long"])
    #expect(redaction.text("<abcdefghi>") == "<***>")
    #expect(redaction.text("<abcdefgh-long>") == "<***>")
    #expect(redaction.text("<abcdefdefghi>") == "<******>" || redaction.text("<abcdefdefghi>") == "<***>")
  }

  @Test("Secrets of fewer than 4 bytes are not searched", arguments: ["", "a", "ab", "abc", "é"])
  func short(text: String) {
    let sentence = "a sentence with abc and é in it"
    #expect(Redaction.off.adding([Secret(text)]).text(sentence) == sentence)
  }

  @Test("Half a secret at the end of a truncated body is masked too", arguments: 2..<18)
  func cut(length: Int) {
    let secret = "s3c/r3t \"té\" key"
    let redaction = Redaction.off.adding([Secret(secret)])
    for (name, written) in SecretNotation.all(of: secret)
    where ["as it is", "percent-encoded", "JSON"].contains(name) || name == "percent-encoded in full" && length >= 6 {
      let body = "say \(written) and more"
      let snippet = BodySnippet(body.utf8, limit: 4 + length, redaction: redaction)
      #expect(snippet.text.hasPrefix("say ***"), "\(name): \(snippet.text)")
    }
    let error = TestError(name: String((String(repeating: "x", count: 180) + secret).prefix(180 + length)) + "…")
    #expect(!redaction.text("\(error)").contains("s3c"))
  }

  @Test("Secrets are masked before names, so a delimiter in them does not end the masking")
  func delimiters() {
    let redaction = Redaction.standard.adding(["abc&def,ghi"])
    #expect(redaction.text("password=abc&def,ghi&x=1") == "password=***&x=1")
    #expect(redaction.url("https://h/?token=abc&def,ghi") == "https://h/?token=***")
  }

  @Test("Many secrets are found like few, and shared patterns are stored once")
  func many() {
    var matcher = SecretMatcher(Set((0..<2000).map { Secret("PLANTED-\($0)-x") }))
    matcher.add(["PLANTED-1-x", " PLANTED-1-x ", "PLANTED-new"])
    #expect(matcher.secrets.count == 2002)
    #expect(
      matcher.masking("a PLANTED-1999-x b PLANTED-0-x c PLANTED-new d PLANTED-2000-x")
        == "a *** b *** c *** d PLANTED-2000-x")
  }

  @Test("A redaction gives its secrets to code and prints none")
  func redaction() {
    var redaction = Redaction.standard
    #expect(redaction.secrets.isEmpty && redaction == .standard)
    redaction.secrets = ["PLANTED-1"]
    #expect(redaction.secrets == ["PLANTED-1"] && redaction != .standard)
    #expect(redaction.adding(["PLANTED-2"]).secrets == ["PLANTED-1", "PLANTED-2"])
    #expect(redaction.text("PLANTED-1") == "***")
    let printed = RedactedDescriptionsTests.printed(redaction.adding(["PLANTED-2"]))
    #expect(!printed.contains("PLANTED") && !printed.contains("80, 76, 65"))
    redaction.secrets = []
    #expect(redaction == .standard && redaction.text("PLANTED-1") == "PLANTED-1")
  }
}

extension String {
  /// Returns whether this string contains the UTF-8 of the other. Strings that are equal as text may have different
  /// bytes.
  func hasBytes(of other: String) -> Bool { Data(utf8).range(of: Data(other.utf8)) != nil }
}
