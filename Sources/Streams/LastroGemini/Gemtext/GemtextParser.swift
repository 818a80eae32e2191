// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// A parser for gemtext that arrives in pieces of any size. It buffers at most one line.
///
/// Lines end in LF or CRLF. A byte order mark at the start is dropped, and bytes that are not UTF-8 become U+FFFD. The
/// text is that of the server, including control characters; ``GemtextRenderer`` makes them harmless for terminals.
package struct GemtextParser: Sendable {
  private var machine: GemtextMachine

  /// Creates a parser.
  ///
  /// - Parameter maximumLineBytes: the length beyond which a line is split into several. Default 64 KiB; at least 1
  ///   KiB.
  package init(maximumLineBytes: Int = 65_536) { machine = GemtextMachine(maximumLineBytes: maximumLineBytes) }

  /// Adds bytes, and returns the lines that end in them.
  package mutating func parse(_ bytes: some Collection<UInt8>) -> [GemtextLine] {
    var lines: [GemtextMachine.Line] = []
    machine.consume(bytes, into: &lines)
    return lines.map(GemtextLine.init)
  }

  /// Ends the document, and returns the remaining lines.
  package mutating func finish() -> [GemtextLine] {
    var lines: [GemtextMachine.Line] = []
    machine.finish(into: &lines)
    return lines.map(GemtextLine.init)
  }

  /// Returns all lines of a document in memory.
  package static func lines(of document: some Collection<UInt8>) -> [GemtextLine] {
    var parser = GemtextParser()
    return parser.parse(document) + parser.finish()
  }

  /// Returns all lines of a document in memory.
  package static func lines(of document: String) -> [GemtextLine] { lines(of: Array(document.utf8)) }
}
