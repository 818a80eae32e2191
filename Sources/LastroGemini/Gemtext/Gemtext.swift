// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// A line of gemtext (gemini://geminiprotocol.net/docs/gemtext-specification.gmi).
public enum GemtextLine: Sendable, Hashable {
  /// Text, to be wrapped; may be empty.
  case text(String)
  /// `=>`: a link. What it leads to, ``GeminiURL/resolve(_:)`` tells.
  case link(target: String, label: String?)
  /// `#` to `###`: a heading of level 1 to 3.
  case heading(level: Int, text: String)
  /// `* `: an item of a list.
  case listItem(String)
  /// `>`: a line of a quote.
  case quote(String)
  /// Preformatted lines follow; with what the writer says they are.
  case preformatStart(alternative: String?)
  /// A line to be shown as it is.
  case preformatted(String)
  /// The end of preformatted lines, also where the document leaves it out.
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

/// Reads gemtext as it comes, in pieces of any size. Keeps no more than one line.
///
/// Lines end in LF or CRLF; a byte order mark at the start is dropped; what is not UTF-8 becomes U+FFFD. Text is as the
/// server wrote it, control characters included: ``GemtextRenderer`` makes them harmless for terminals.
public struct GemtextParser: Sendable {
  private var machine: GemtextMachine

  /// Makes a parser.
  ///
  /// - Parameter maximumLineBytes: a longer line comes in pieces, as several lines. Default 64 KiB; 1 KiB at least.
  public init(maximumLineBytes: Int = 65_536) { machine = GemtextMachine(maximumLineBytes: maximumLineBytes) }

  /// Takes bytes, and gives the lines that end in them.
  public mutating func parse(_ bytes: some Collection<UInt8>) -> [GemtextLine] {
    var lines: [GemtextMachine.Line] = []
    machine.consume(bytes, into: &lines)
    return lines.map(GemtextLine.init)
  }

  /// The document has ended: gives what is left.
  public mutating func finish() -> [GemtextLine] {
    var lines: [GemtextMachine.Line] = []
    machine.finish(into: &lines)
    return lines.map(GemtextLine.init)
  }

  /// All lines of a document in memory.
  public static func lines(of document: some Collection<UInt8>) -> [GemtextLine] {
    var parser = GemtextParser()
    return parser.parse(document) + parser.finish()
  }

  /// All lines of a document in memory.
  public static func lines(of document: String) -> [GemtextLine] { lines(of: Array(document.utf8)) }
}

extension GeminiBody {
  /// The lines of a body that is gemtext, as they come.
  public var gemtext: GemtextLines { GemtextLines(self) }
}

/// The lines of a body, as they come; with its back-pressure, and its errors. A line that an error cuts short is given,
/// then the error is thrown.
public struct GemtextLines: AsyncSequence, Sendable {
  /// A line.
  public typealias Element = GemtextLine
  /// Why the rest did not come.
  public typealias Failure = GeminiError

  private let body: GeminiBody

  init(_ body: GeminiBody) { self.body = body }

  /// Reads the lines.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var bytes: GeminiBody.AsyncIterator
    private var parser = GemtextParser()
    private var lines: ArraySlice<GemtextLine> = []
    private var hasEnded = false
    private var failure: GeminiError?

    fileprivate init(_ body: GeminiBody) { bytes = body.makeAsyncIterator() }

    /// The next line, or `nil` at the end.
    ///
    /// - Throws: ``GeminiError``: why the rest does not come, after the line that it cut short.
    public mutating func next() async throws(GeminiError) -> GemtextLine? { try await next(isolation: #isolation) }

    /// The next line, or `nil` at the end.
    ///
    /// - Throws: ``GeminiError``: why the rest does not come, after the line that it cut short.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(GeminiError) -> GemtextLine? {
      while true {
        if let line = lines.popFirst() { return line }
        if let failure { throw failure }
        if hasEnded { return nil }
        do throws(GeminiError) {
          if let piece = try await bytes.next(isolation: actor) {
            lines = parser.parse(piece)[...]
          } else {
            hasEnded = true
            lines = parser.finish()[...]
          }
        } catch {
          // Neither is an end of the document: the body may be read on.
          guard error.code != .cancelled, error.code != .operationInProgress else { throw error }
          failure = error
          lines = parser.finish()[...]
        }
      }
    }
  }

  /// Makes the iterator. A stream has one reader.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body) }
}
