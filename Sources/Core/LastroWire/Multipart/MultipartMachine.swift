// SPDX-License-Identifier: Apache-2.0

/// Parses a multipart message (RFC 2046 §5.1) into heads and pieces of bodies.
///
/// Lines end in CRLF. A bare LF at the end of a format line is rejected, because readers disagree on it. A line that
/// merely begins like a delimiter is part of the body. Text before the first and after the last delimiter is dropped.
/// The machine holds back at most a delimiter's length of a body.
package struct MultipartMachine: Sendable {
  package enum Event: Equatable, Sendable {
    /// The head of the next part.
    case head([ResponseHead.Field])
    /// A piece of the part's body, never empty.
    case body([UInt8])
    /// The part's body is complete.
    case partEnd
    /// The last delimiter was received. Later bytes do not belong to the message.
    case end
  }

  package struct Limits: Equatable, Sendable {
    package var headBytes = 16 * 1024
    package var fields = 32
    package var parts = 1_000
    /// The maximum size of the text before the first delimiter.
    package var preambleBytes = 64 * 1024

    package init() {}
  }

  private enum State { case preamble, head, body, closing, ended }

  /// The kind of text at a position.
  private enum Mark {
    case text
    /// There are too few bytes to decide.
    case undecided
    case delimiter(end: Int)
    case close(end: Int)
  }

  /// The maximum number of blanks after a delimiter. Gateways add only a few.
  private static let maximumPadding = 128
  private static let cr: UInt8 = 0x0D
  private static let lf: UInt8 = 0x0A
  private static let dash = UInt8(ascii: "-")

  private let limits: Limits
  /// The boundary with two leading dashes.
  private let marker: [UInt8]
  private var state = State.preamble
  private var buffer: [UInt8] = []
  /// The position of the first unused byte.
  private var position = 0
  /// Whether the CRLF before `position` has been consumed, so that a delimiter may follow directly. This is so at the
  /// beginning and after a head, whose empty line may also be the CRLF of the delimiter.
  private var startsLine = true
  private var preambleBytes = 0
  private var headLines = MultipartHeadLines()
  private var parts = 0

  package init(boundary: MultipartBoundary, limits: Limits = Limits()) {
    marker = [Self.dash, Self.dash] + Array(boundary.text.utf8)
    self.limits = limits
  }

  /// Whether the last delimiter was received.
  package var hasEnded: Bool { state == .ended }

  /// Adds received bytes. Call `next` until it returns `nil` before you add more, to limit the memory.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard state != .ended else { return }
    buffer.removeSubrange(..<position)
    position = 0
    buffer.append(contentsOf: bytes)
  }

  /// Returns the next event; `nil` if more bytes are needed.
  package mutating func next() throws(MultipartViolation) -> Event? {
    while true {
      switch state {
      case .preamble:
        guard try passPreamble() else { return nil }
      case .head:
        guard let fields = try headLines.consume(from: buffer, at: &position, limits) else { return nil }
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

  /// Ends the input.
  ///
  /// - Throws: `MultipartViolation` if the message is incomplete.
  package func finish() throws(MultipartViolation) {
    guard state == .ended else {
      throw MultipartViolation(
        .truncated, "the multipart message ended in part \(parts), before its last delimiter")
    }
  }

  /// Skips the preamble. Returns false if more bytes are needed.
  private mutating func passPreamble() throws(MultipartViolation) -> Bool {
    let (end, mark) = try textEnd()
    preambleBytes += end - position
    guard preambleBytes <= limits.preambleBytes else {
      throw MultipartViolation(
        .preambleTooLarge,
        "no delimiter was found in the first \(limits.preambleBytes) bytes of the multipart message")
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

  /// Skips a delimiter. Returns false if there is none.
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

  /// Returns the end of the text at `position`, and the mark that follows it.
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

  /// Returns the mark at `start`, where a line begins.
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
