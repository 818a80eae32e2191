// SPDX-License-Identifier: Apache-2.0

/// Parses a response head line by line, as an HTTP library supplies raw lines, and rejects violations of RFC 9112.
///
/// Rules for editing: no I/O, no clock, nothing kept of the caller's bytes but what ``KnownHead`` may keep.
///
/// Leniencies: a line may end in LF alone (RFC 9112 §2.2); the reason phrase, and the space before it, may be missing
/// (§4); an obsolete fold becomes one space (§5.2), but not in a field that frames the body; a `Content-Length` may be
/// repeated with the same value (RFC 9110 §8.6); framing fields of a response without a body are ignored (RFC 9112
/// §6.3); a value that is not UTF-8 is read as ISO 8859-1; a `Set-Cookie` with a control character other than CR, LF
/// and NUL is left out (RFC 6265bis §5.6).
package struct ResponseHeadMachine {
  package enum Event: Equatable {
    case needsMore
    /// An interim response (1xx). The final response follows.
    case interim(ResponseHead)
    case final(ResponseHead)
  }

  enum State {
    case statusLine
    case fields
  }

  /// The relation of the current head to the known one.
  enum Likeness {
    /// There is no known head, or the current head has departed from it.
    case none
    /// Every line so far equals the known head's. Nothing is parsed, and `head` is not filled.
    case same
    /// The head has the structure of the known head, but some lines have been replaced. `head` and `lines` are those of
    /// the known head with the replacements.
    case patched
  }

  let maximumHeadBytes: Int
  let maximumFields: Int
  private let maximumInterimResponses: Int
  let request: ResponseReader.Request
  var state = State.statusLine
  /// The head that is being parsed.
  var head = ResponseHead(version: (0, 0), status: 0, reason: "")
  var bytes = 0
  private var interims = InterimBudget()
  /// The head that the current one is compared with. After the final head, the head to keep for the next response.
  package internal(set) var known: KnownHead?

  /// Returns the final head for reuse, once. The machine lives as long as the transfer, but does not need it any more.
  package mutating func takeKnown() -> KnownHead? { known.take() }

  /// The lines of the current head, once one of them differs from the known head.
  var lines = KnownLines()
  var lineCount = 0
  var likeness = Likeness.none
  /// Whether the latest line of the head was a field that has been left out.
  private var isFieldLeftOut = false
  /// The properties affected by the replacement lines and by the lines that they replaced.
  var changes: KnownHead.Meaning = []

  /// The framing of the body. It is valid once the final head has been parsed.
  package internal(set) var framing = ResponseFraming()

  /// Creates a machine.
  ///
  /// - Parameter request: the request that the head responds to. After an upgrade, 101 is a final response.
  package init(
    maximumHeadBytes: Int, maximumFields: Int, maximumInterimResponses: Int,
    request: ResponseReader.Request = .ordinary
  ) {
    self.request = request
    self.maximumHeadBytes = maximumHeadBytes
    self.maximumFields = maximumFields
    self.maximumInterimResponses = maximumInterimResponses
  }

  /// Parses one line of the head including its line end. Call it no more after the final head.
  ///
  /// - Parameters:
  ///   - latest: the same server's latest head. It does not affect the result, only the cost of parsing.
  ///   - now: in nanoseconds, for the rate of interim responses. Default 0: there is no clock, and only progress
  ///     counts.
  /// - Throws: ``HeadViolation``. The response cannot be trusted then, and the machine must not be used any more.
  package mutating func consume(
    line: UnsafeRawBufferPointer, resembling latest: KnownHead? = nil, now: UInt64 = 0
  ) throws(HeadViolation) -> Event {
    bytes += line.count
    guard bytes <= maximumHeadBytes else {
      // The result must not depend on how a line is split into pieces.
      try checkBeginning(line)
      throw tooLarge
    }
    if case .statusLine = state { beginHead(resembling: latest) }
    if likeness != .none, let known {
      // Inline, because most lines need nothing more.
      if lineCount <= maximumFields, known.lines.hasLine(line, at: lineCount) {
        if lineCount == 0 { state = .fields }
        lineCount += 1
        return .needsMore
      }
      if let event = try follow(known, line) { return event }
    }
    return try read(line, now)
  }

  /// Records that bytes of the request's body were sent, which entitles the server to more interim responses.
  package mutating func sentBody(_ count: Int) { interims.sent(count) }

  /// Checks a line that has no end yet. A peer that speaks another protocol may never send one.
  ///
  /// - Throws: ``HeadViolation`` if the line makes the head too large, or if it cannot begin a head.
  func check(unfinishedLine line: UnsafeRawBufferPointer) throws(HeadViolation) {
    try checkBeginning(line)
    guard bytes + line.count <= maximumHeadBytes else { throw tooLarge }
  }

  private func checkBeginning(_ line: UnsafeRawBufferPointer) throws(HeadViolation) {
    if case .statusLine = state, !StatusLine.mayBegin(with: line) { throw StatusLine.isMissing }
  }

  private var tooLarge: HeadViolation {
    HeadViolation(.headTooLarge, "the response head exceeds \(maximumHeadBytes.counted("byte"))")
  }

  private mutating func read(_ line: UnsafeRawBufferPointer, _ now: UInt64) throws(HeadViolation) -> Event {
    let content = try Self.withoutLineEnd(line)
    defer { lineCount += 1 }
    switch state {
    case .statusLine:
      lines.append(line)
      head = try StatusLine.parse(content)
      head.fields.reserveCapacity(min(16, maximumFields))
      isFieldLeftOut = false
      state = .fields
      return .needsMore
    case .fields:
      if content.isEmpty { return try endHead(now) }
      lines.append(line)
      if let known, known.lines.hasLine(line, at: lineCount), head.fields.count < maximumFields {
        head.fields.append(known.head.fields[lineCount - 1])
        isFieldLeftOut = false
      } else {
        try addField(content)
      }
      return .needsMore
    }
  }

  private mutating func endHead(_ now: UInt64) throws(HeadViolation) -> Event {
    if head.status == 101 {
      known = nil
      if request == .upgrade { return .final(head) }
      throw HeadViolation(.unexpectedUpgrade, "the server answered 101 Switching Protocols, which was not requested")
    }
    if head.status < 200 {
      guard interims.spend(headBytes: bytes, limit: maximumInterimResponses, now: now) else {
        throw HeadViolation(.tooManyInterimResponses, InterimBudget.excess(maximumInterimResponses))
      }
      bytes = 0
      isFieldLeftOut = false
      state = .statusLine
      return .interim(head)
    }
    framing = try ResponseFraming(head, to: request)
    known = mayBeKept ? KnownHead(head, framing: framing, lines: lines) : nil
    lines = KnownLines()
    defer { head.fields = [] }
    return .final(head)
  }

  /// Whether the framing of the head also holds for the next request, regardless of its method.
  var mayBeKept: Bool { !framing.isContradictory && request != .connect }

  private mutating func addField(_ line: UnsafeRawBufferPointer) throws(HeadViolation) {
    if Self.isFold(line) { return try addFold(line) }
    isFieldLeftOut = false
    guard head.fields.count < maximumFields else {
      throw HeadViolation(.tooManyFields, "the response head has more than \(maximumFields.counted("field"))")
    }
    if let field = try Self.field(line) { head.fields.append(field) } else { isFieldLeftOut = true }
  }

  /// Returns the field of a line without its end, or nil for a cookie that is left out.
  static func field(_ line: UnsafeRawBufferPointer) throws(HeadViolation) -> ResponseHead.Field? {
    do throws(HeadViolation) {
      return try FieldLine.parse(line)
    } catch {
      guard FieldLine.isSpoiltCookie(line) else { throw error }
      return nil
    }
  }

  private mutating func addFold(_ line: UnsafeRawBufferPointer) throws(HeadViolation) {
    let folded = try FieldLine.value(line)
    // A fold is left out together with its field.
    if isFieldLeftOut { return }
    guard let last = head.fields.indices.last else {
      throw HeadViolation(.fieldName, "the response head begins with a folded line")
    }
    let name = head.fields[last].name
    guard !name.isASCII("content-length"), !name.isASCII("transfer-encoding") else {
      throw HeadViolation(.fieldValue, "a field that frames the body is folded")
    }
    head.fields[last].value += head.fields[last].value.isEmpty || folded.isEmpty ? folded : " " + folded
  }

  /// Returns whether a line continues the value of the previous line.
  static func isFold(_ line: UnsafeRawBufferPointer) -> Bool { line.first.map(\.isSpace) ?? false }

  /// Returns whether a line consists only of a line end.
  static func isEmpty(_ line: UnsafeRawBufferPointer) -> Bool {
    line.last == 0x0A && (line.count == 1 || line.count == 2 && line[0] == 0x0D)
  }

  static func withoutLineEnd(_ line: UnsafeRawBufferPointer) throws(HeadViolation) -> UnsafeRawBufferPointer {
    var end = line.count
    guard end > 0, line[end - 1] == 0x0A else { throw HeadViolation(.lineEnd, "a line of the head has no end") }
    end -= 1
    if end > 0, line[end - 1] == 0x0D { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: line[..<end])
  }
}

/// Parses a head by its differences from a known one. This does not affect the result, only the cost: lines that cannot
/// be handled this way are parsed as usual.
extension ResponseHeadMachine {
  mutating func beginHead(resembling latest: KnownHead?) {
    known = latest
    lineCount = 0
    likeness = latest == nil ? .none : .same
    changes = []
    if lines.hasBegun { lines = KnownLines() }
  }

  /// Skips whole lines that equal those of the known head.
  ///
  /// - Parameters:
  ///   - position: the beginning of a line.
  ///   - latest: the known head, the same for all lines of a head.
  /// - Returns: the head, if it ends at the new position.
  mutating func skip(
    in bytes: UnsafeRawBufferPointer, at position: inout Int, resembling latest: KnownHead
  ) throws(HeadViolation) -> ResponseHead? {
    if case .statusLine = state { beginHead(resembling: latest) }
    guard likeness != .none else { return nil }
    let found = latest.lines.match(UnsafeRawBufferPointer(rebasing: bytes[position...]), from: lineCount)
    // Near a limit, check line by line.
    guard found.bytes > 0, self.bytes + found.bytes <= maximumHeadBytes, lineCount + found.lines - 1 <= maximumFields
    else { return nil }
    self.bytes += found.bytes
    position += found.bytes
    state = .fields
    lineCount += found.lines
    return found.isWhole ? try endKnownHead(latest) : nil
  }

  /// Handles a line that differs from the known head's at this position. Returns `nil` if it has to be parsed as usual.
  mutating func follow(_ known: KnownHead, _ line: UnsafeRawBufferPointer) throws(HeadViolation) -> Event? {
    if lineCount <= maximumFields {
      if lineCount == known.lineCount {
        if Self.isEmpty(line) { return .final(try endKnownHead(known)) }
      } else if lineCount > 0, !Self.isEmpty(line), !Self.isFold(line), try patch(known, with: line) {
        return .needsMore
      }
    }
    depart(from: known)
    return nil
  }

  /// Replaces a line in a known head's copy. Returns whether that worked.
  private mutating func patch(_ known: KnownHead, with line: UnsafeRawBufferPointer) throws(HeadViolation) -> Bool {
    guard let field = try Self.field(try Self.withoutLineEnd(line)) else { return false }
    if likeness == .same {
      (head, lines) = (known.head, known.lines)
      likeness = .patched
    }
    guard lines.replace(at: lineCount, with: line) else { return false }
    let index = lineCount - 1
    changes.formUnion(KnownHead.meaning(of: field.name))
    changes.formUnion(KnownHead.meaning(of: head.fields[index].name))
    head.fields[index] = field
    lineCount += 1
    return true
  }

  /// Stops comparing with the known head, and keeps only its part that has been received.
  private mutating func depart(from known: KnownHead) {
    switch likeness {
    case .none: return
    case .same: if lineCount > 0 { (head, lines) = known.beginning(lineCount) }
    case .patched:
      head.fields.removeLast(head.fields.count - max(0, lineCount - 1))
      lines = lines.prefix(lineCount)
    }
    likeness = .none
  }

  /// Ends a head that has as many lines as the known one.
  private mutating func endKnownHead(_ known: KnownHead) throws(HeadViolation) -> ResponseHead {
    let isPatched = likeness == .patched
    framing = isPatched && changes.contains(.framing) ? try ResponseFraming(head, to: request) : known.framing
    likeness = .none
    guard isPatched else { return known.head }
    let isPersistent = changes.contains(.persistence) ? head.isPersistent : known.isPersistent
    self.known =
      changes.contains(.secret) || !mayBeKept
      ? nil : KnownHead(head, framing: framing, isPersistent: isPersistent, lines: lines)
    lines = KnownLines()
    defer { head.fields = [] }
    return head
  }
}
