// SPDX-License-Identifier: Apache-2.0

/// Reads a message of several parts (RFC 2046 §5.1): bytes in, heads and pieces of bodies out.
///
/// Lines end in CRLF; a bare LF where a line of the format ends is refused, because not every reader takes it for an
/// end. A line that only begins like a delimiter is body. What stands before the first and behind the last delimiter is
/// dropped. It holds back no more of a body than a delimiter is long.
package struct MultipartMachine: Sendable {
  package enum Event: Equatable, Sendable {
    /// The head of the next part.
    case head([ResponseHead.Field])
    /// A piece of its body, never empty.
    case body([UInt8])
    /// Its body is whole.
    case partEnd
    /// The last delimiter has come. What follows is no part of the message.
    case end
  }

  package struct Limits: Equatable, Sendable {
    package var headBytes = 16 * 1024
    package var fields = 32
    package var parts = 1_000
    /// Of what stands before the first delimiter.
    package var preambleBytes = 64 * 1024

    package init() {}
  }

  private enum State { case preamble, head, body, closing, ended }

  /// What stands at a place in the text.
  private enum Mark {
    case text
    /// Too few bytes to tell.
    case undecided
    case delimiter(end: Int)
    case close(end: Int)
  }

  /// Blanks that may stand behind a delimiter: a gateway's, of which there are few.
  private static let maximumPadding = 128
  private static let cr: UInt8 = 0x0D
  private static let lf: UInt8 = 0x0A
  private static let dash = UInt8(ascii: "-")

  private let limits: Limits
  /// Two dashes and the boundary.
  private let marker: [UInt8]
  private var state = State.preamble
  private var buffer: [UInt8] = []
  /// Where what was not used yet begins.
  private var position = 0
  /// Whether the CRLF before `position` was used, so that a delimiter may stand there without one: at the beginning,
  /// and behind a head, whose empty line may be the delimiter's own CRLF.
  private var startsLine = true
  private var preambleBytes = 0
  private var headLines = MultipartHeadLines()
  private var parts = 0

  package init(boundary: MultipartBoundary, limits: Limits = Limits()) {
    marker = [Self.dash, Self.dash] + Array(boundary.text.utf8)
    self.limits = limits
  }

  /// Whether the last delimiter has come.
  package var hasEnded: Bool { state == .ended }

  /// Takes bytes. Ask for events until there is none before the next ones, so that little is kept.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard state != .ended else { return }
    buffer.removeSubrange(..<position)
    position = 0
    buffer.append(contentsOf: bytes)
  }

  /// The next event; `nil` where that needs more bytes.
  package mutating func next() throws(MultipartViolation) -> Event? {
    while true {
      switch state {
      case .preamble:
        guard try passPreamble() else { return nil }
      case .head:
        guard let fields = try headLines.take(from: buffer, at: &position, limits) else { return nil }
        state = .body
        startsLine = true
        return .head(fields)
      case .body: return try bodyEvent()
      case .closing:
        state = .ended
        buffer = []
        position = 0
        return .end
      case .ended: return nil
      }
    }
  }

  /// The message ends here.
  ///
  /// - Throws: when it is not whole.
  package func finish() throws(MultipartViolation) {
    guard state == .ended else {
      throw MultipartViolation(
        .truncated, "the multipart message ended in part \(parts), before its last delimiter")
    }
  }

  /// False where more bytes are needed.
  private mutating func passPreamble() throws(MultipartViolation) -> Bool {
    let (end, mark) = try textEnd()
    preambleBytes += end - position
    guard preambleBytes <= limits.preambleBytes else {
      throw MultipartViolation(
        .preambleTooLarge,
        "no delimiter stands in the first \(limits.preambleBytes) bytes of the multipart message")
    }
    if end > position { startsLine = false }
    position = end
    return try pass(mark)
  }

  private mutating func bodyEvent() throws(MultipartViolation) -> Event? {
    let (end, mark) = try textEnd()
    guard end == position else {
      defer { position = end }
      startsLine = false
      return .body(Array(buffer[position..<end]))
    }
    return try pass(mark) ? .partEnd : nil
  }

  /// Goes behind a delimiter; false where there is none.
  private mutating func pass(_ mark: Mark) throws(MultipartViolation) -> Bool {
    switch mark {
    case .text, .undecided: return false
    case .close(let end):
      position = end
      state = .closing
    case .delimiter(let end):
      position = end
      state = .head
      headLines = MultipartHeadLines()
      parts += 1
      guard parts <= limits.parts else {
        throw MultipartViolation(
          .tooManyParts, "the multipart message has more than \(limits.parts.counted("part"))")
      }
    }
    return true
  }

  /// Where the text at `position` ends, and what stands there.
  private func textEnd() throws(MultipartViolation) -> (Int, Mark) {
    try buffer.withBytes { (bytes) throws(MultipartViolation) in
      if startsLine {
        let mark = try mark(in: bytes, at: position)
        if case .text = mark {} else { return (position, mark) }
      }
      var from = position
      while let feed = bytes.firstLineFeed(from: from) {
        from = feed + 1
        guard feed > position, bytes[feed - 1] == Self.cr else { continue }
        let mark = try mark(in: bytes, at: feed + 1)
        if case .text = mark { continue }
        return (feed - 1, mark)
      }
      let endsInReturn = bytes.count > position && bytes[bytes.count - 1] == Self.cr
      return (endsInReturn ? bytes.count - 1 : bytes.count, .undecided)
    }
  }

  /// Whether a delimiter's line begins at `start`.
  private func mark(in bytes: UnsafeRawBufferPointer, at start: Int) throws(MultipartViolation) -> Mark {
    let seen = min(bytes.count - start, marker.count)
    guard bytes[start..<start + seen].elementsEqual(marker[..<seen]) else { return .text }
    var end = start + marker.count
    guard end < bytes.count else { return .undecided }
    if bytes[end] == Self.dash {
      guard end + 1 < bytes.count else { return .undecided }
      return bytes[end + 1] == Self.dash ? .close(end: end + 2) : .text
    }
    let padding = end
    while end < bytes.count, bytes[end].isSpace { end += 1 }
    guard end - padding <= Self.maximumPadding else {
      throw MultipartViolation(
        .paddingTooLong, "more than \(Self.maximumPadding) blanks follow a delimiter of the multipart message")
    }
    guard end < bytes.count else { return .undecided }
    if bytes[end] == Self.lf { throw .bareLineFeed("a delimiter") }
    guard bytes[end] == Self.cr else { return .text }
    guard end + 1 < bytes.count else { return .undecided }
    return bytes[end + 1] == Self.lf ? .delimiter(end: end + 2) : .text
  }
}

extension MultipartViolation {
  static func bareLineFeed(_ place: String) -> Self {
    Self(.bareLineFeed, "\(place) of the multipart message ends in LF without CR")
  }
}
