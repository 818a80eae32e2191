// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Lastro
@testable import LastroGemini

@Suite("Gemtext as plain text", .timeLimit(.minutes(15)))
struct GemtextPlainTextTests {
  /// Returns the text of a whole document, with numbered links.
  private static func text(_ document: String, width: Int = 80) async throws -> String {
    var text = "", links = 0
    for try await line in GemtextLines(body: GeminiBody(Data(document.utf8))) {
      if case .link = line { links += 1 }
      if let shown = line.plainText(width: width, linkNumber: links) { text += shown + "\n" }
    }
    return text
  }

  static let document = """
    # A capsule with a rather long heading
    Text that is longer than the width, and wraps.

    => /a The first link of all
    =>gemini://b.example/
    * an item that is too long to fit
    > a quote that is too long to fit
    ```code
    if x {   y }   // stays as it is, however long
    ```
    end
    """

  @Test("Text is wrapped, with numbered links")
  func rendering() async throws {
    let text = try await Self.text(Self.document, width: 24)
    #expect(
      text == """
        # A capsule with a
          rather long heading
        Text that is longer than
        the width, and wraps.

        [1] The first link of
            all
        [2] gemini://b.example/
        • an item that is too
          long to fit
        > a quote that is too
        > long to fit
        if x {   y }   // stays as it is, however long
        end

        """)
  }

  @Test("No line exceeds the width, and wide characters count twice")
  func width() async throws {
    let words = ["a", String(repeating: "x", count: 50), "漢字漢字漢字漢字漢字漢字漢字", "é\u{301}\u{301}", "👩‍👩‍👧"]
    let text = (words + words.reversed() + words).joined(separator: " ")
    for line in ["", "* ", "> ", "# ", "=> /x "].map({ $0 + text }) {
      let shown = try await Self.text(line, width: 1)
      for row in shown.split(separator: "\n") {
        let columns = row.reduce(0) { $0 + ($1.unicodeScalars.first.map { $0.value > 0x2E80 ? 2 : 1 } ?? 0) }
        #expect(columns <= 20, "\(row)")
      }
      #expect(shown.filter { $0 == "x" }.count == (line.hasPrefix("=>") ? 150 : 150))
    }
  }

  @Test("Terminal control characters are neutralised")
  func harmless() async throws {
    let hostile = "\u{1B}[2Ja\u{7}b\u{9B}31m\u{202E}c\rd\te"
    for prefix in ["", "# ", "* ", "> ", "=> /x ", "=> ", "```\n"] {
      let text = try await Self.text(prefix + hostile)
      for scalar in text.unicodeScalars where scalar != "\n" {
        #expect(scalar.value >= 0x20 && !(0x7F..<0xA0).contains(scalar.value) && scalar.value != 0x202E)
      }
    }
  }
}
