// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// A line of gemtext (gemini://geminiprotocol.net/docs/gemtext-specification.gmi).
public enum GemtextLine: Sendable, Hashable {
  /// A line of text to be wrapped; may be empty.
  case text(String)
  /// `=>`: a link. Pass its target to ``GeminiURL/resolve(_:)``.
  case link(target: String, label: String?)
  /// `#` to `###`: a heading of level 1 to 3.
  case heading(level: Int, text: String)
  /// `* `: an item of a list.
  case listItem(String)
  /// `>`: a line of a quote.
  case quote(String)
  /// The start of preformatted lines, with an optional alternative text by the author.
  case preformatStart(alternative: String?)
  /// A preformatted line, to be shown unchanged.
  case preformatted(String)
  /// The end of preformatted lines, even if the document omits it.
  case preformatEnd

  init(_ line: GemtextMachine.Line) {
    switch line {
    case .text(let text): self = .text(text)
    case .link(let target, let label): self = .link(target: target, label: label)
    case .heading(let level, let text): self = .heading(level: level, text: text)
    case .listItem(let text): self = .listItem(text)
    case .quote(let text): self = .quote(text)
    case .preformatStart(let alternative): self = .preformatStart(alternative: alternative)
    case .preformatted(let text): self = .preformatted(text)
    case .preformatEnd: self = .preformatEnd
    }
  }
}
