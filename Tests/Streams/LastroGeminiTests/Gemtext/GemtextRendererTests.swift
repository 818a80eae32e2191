// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Lastro
@testable import LastroGemini

@Suite("Gemtext as plain text")
struct GemtextRendererTests {
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
  func rendering() {
    let text = GemtextRenderer.text(GemtextParser.lines(of: Self.document), width: 24)
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

  @Test("Links are numbered, and their targets are shown on request")
  func links() {
    var renderer = GemtextRenderer(showsTargets: true)
    let lines = GemtextParser.lines(of: Self.document).map { renderer.render($0) }
    #expect(renderer.links == ["/a", "gemini://b.example/"] && lines.contains("[1] The first link of all </a>"))
  }

  @Test("No line exceeds the width, and wide characters count twice")
  func width() {
    let words = ["a", String(repeating: "x", count: 50), "漢字漢字漢字漢字漢字漢字漢字", "é\u{301}\u{301}", "👩‍👩‍👧"]
    let text = (words + words.reversed() + words).joined(separator: " ")
    for line in ["", "* ", "> ", "# ", "=> /x "].map({ $0 + text }) {
      let shown = GemtextRenderer.text(GemtextParser.lines(of: line), width: 1)
      for row in shown.split(separator: "\n") {
        let columns = row.reduce(0) { $0 + ($1.unicodeScalars.first.map { $0.value > 0x2E80 ? 2 : 1 } ?? 0) }
        #expect(columns <= 20, "\(row)")
      }
      #expect(shown.filter { $0 == "x" }.count == (line.hasPrefix("=>") ? 150 : 150))
    }
  }

  @Test("Terminal control characters are neutralised")
  func harmless() {
    let hostile = "\u{1B}[2Ja\u{7}b\u{9B}31m\u{202E}c\rd\te"
    for prefix in ["", "# ", "* ", "> ", "=> /x ", "=> ", "```\n"] {
      let text = GemtextRenderer.text(GemtextParser.lines(of: prefix + hostile), showsTargets: true)
      for scalar in text.unicodeScalars where scalar != "\n" {
        #expect(scalar.value >= 0x20 && !(0x7F..<0xA0).contains(scalar.value) && scalar.value != 0x202E)
      }
    }
  }
}
