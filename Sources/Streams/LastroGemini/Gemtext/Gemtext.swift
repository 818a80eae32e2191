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

/// A parser for gemtext that arrives in pieces of any size. It buffers at most one line.
///
/// Lines end in LF or CRLF. A byte order mark at the start is dropped, and bytes that are not UTF-8 become U+FFFD. The
/// text is that of the server, including control characters; ``GemtextRenderer`` makes them harmless for terminals.
public struct GemtextParser: Sendable {
  private var machine: GemtextMachine

  /// Creates a parser.
  ///
  /// - Parameter maximumLineBytes: the length beyond which a line is split into several. Default 64 KiB; at least 1
  ///   KiB.
  public init(maximumLineBytes: Int = 65_536) { machine = GemtextMachine(maximumLineBytes: maximumLineBytes) }

  /// Adds bytes, and returns the lines that end in them.
  public mutating func parse(_ bytes: some Collection<UInt8>) -> [GemtextLine] {
    var lines: [GemtextMachine.Line] = []
    machine.consume(bytes, into: &lines)
    return lines.map(GemtextLine.init)
  }

  /// Ends the document, and returns the remaining lines.
  public mutating func finish() -> [GemtextLine] {
    var lines: [GemtextMachine.Line] = []
    machine.finish(into: &lines)
    return lines.map(GemtextLine.init)
  }

  /// Returns all lines of a document in memory.
  public static func lines(of document: some Collection<UInt8>) -> [GemtextLine] {
    var parser = GemtextParser()
    return parser.parse(document) + parser.finish()
  }

  /// Returns all lines of a document in memory.
  public static func lines(of document: String) -> [GemtextLine] { lines(of: Array(document.utf8)) }
}

extension GeminiBody {
  /// The lines of a body of gemtext, as they arrive.
  public var gemtext: GemtextLines { GemtextLines(self) }
}

/// The lines of a body as they arrive, with its back-pressure and its errors. If an error cuts a line short, the
/// partial line is returned before the error is thrown.
public struct GemtextLines: AsyncSequence, Sendable {
  /// A line.
  public typealias Element = GemtextLine
  /// The error that prevented the rest from being read.
  public typealias Failure = GeminiError

  private let body: GeminiBody

  init(_ body: GeminiBody) { self.body = body }

  /// An iterator over the lines.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var bytes: GeminiBody.AsyncIterator
    private var parser = GemtextParser()
    private var lines: ArraySlice<GemtextLine> = []
    private var hasEnded = false
    private var failure: GeminiError?

    fileprivate init(_ body: GeminiBody) { bytes = body.makeAsyncIterator() }

    /// Returns the next line, or `nil` at the end.
    ///
    /// - Throws: ``GeminiError``: the reason why the rest cannot be read, after the line that was cut short.
    public mutating func next() async throws(GeminiError) -> GemtextLine? { try await next(isolation: #isolation) }

    /// Returns the next line, or `nil` at the end.
    ///
    /// - Throws: ``GeminiError``: the reason why the rest cannot be read, after the line that was cut short.
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
          // Neither error ends the document: reading may continue.
          guard error.code != .cancelled, error.code != .operationInProgress else { throw error }
          failure = error
          lines = parser.finish()[...]
        }
      }
    }
  }

  /// Creates the iterator. A stream has a single reader.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body) }
}
