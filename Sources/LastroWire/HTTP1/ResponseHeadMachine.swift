// SPDX-License-Identifier: Apache-2.0

/// Reads a response head line by line, as an HTTP library hands over raw lines, and refuses what RFC 9112 does not
/// allow.
///
/// Rules for editing: no I/O, no clock, nothing kept of the caller's bytes but what ``KnownHead`` may keep.
///
/// Leniencies: a line may end in LF alone (RFC 9112 §2.2); the reason phrase, and the space before it, may be missing
/// (§4); an obsolete fold becomes one space (§5.2), but not in a field that frames the body; a `Content-Length` may
/// be repeated with the same value (RFC 9110 §8.6); framing fields of a response without a body mean nothing (RFC 9112
/// §6.3); a value that is not UTF-8 is read as ISO 8859-1; a `Set-Cookie` with a control character other than CR, LF
/// and NUL is left out (RFC 6265bis §5.6).
package struct ResponseHeadMachine {
  package enum Event: Equatable {
    case needsMore
    /// A 1xx response; the final one is still to come.
    case interim(ResponseHead)
    case final(ResponseHead)
    case trailers
  }

  enum State {
    case statusLine
    case fields
    case trailers
  }

  /// The relation of the head that is being read to the known one.
  enum Likeness {
    /// There is none, or the head has gone its own way.
    case none
    /// Every line so far is the known head's. Nothing is read, and `head` is not filled.
    case same
    /// As many lines as the known head's, of which some were put in the places of others: `head` and `lines` are the
    /// known ones with those.
    case patched
  }

  let maximumHeadBytes: Int
  let maximumFields: Int
  private let maximumInterimResponses: Int
  let request: ResponseReader.Request
  var state = State.statusLine
  /// The head that is being read.
  var head = ResponseHead(version: (0, 0), status: 0, reason: "")
  var bytes = 0
  private var trailerCount = 0
  private var interims = InterimBudget()
  var status = 0
  var majorVersion: UInt8 = 0
  /// The head that this one is compared with, and once it was given as final, what may be kept of it.
  package internal(set) var known: KnownHead?

  /// What may be kept of the final head, once: the machine lives as long as the transfer, and needs it no more.
  package mutating func takeKnown() -> KnownHead? { known.take() }

  /// Lines of the head that is being read, when one of them is not the known one's.
  var lines = KnownLines()
  var lineCount = 0
  var likeness = Likeness.none
  /// Whether the latest line of the head was a field that is left out.
  private var isFieldLeftOut = false
  /// What the lines that were put in the places of others, and those others, have a say in.
  var changes: KnownHead.Meaning = []

  /// The framing of the body; known once the final head was read.
  package internal(set) var framing = ResponseFraming()

  /// - Parameter request: the request that the head responds to. After an upgrade 101 is a final response.
  package init(
    maximumHeadBytes: Int, maximumFields: Int, maximumInterimResponses: Int,
    request: ResponseReader.Request = .ordinary
  ) {
    self.request = request
    self.maximumHeadBytes = maximumHeadBytes
    self.maximumFields = maximumFields
    self.maximumInterimResponses = maximumInterimResponses
  }

  package var contentLength: Int64? { framing.contentLength }
  package var hasContentEncoding: Bool { framing.hasContentEncoding }
  package var isHTTP2: Bool { majorVersion == 2 }

  /// Whether only the end of the connection ends the body (RFC 9112 §6.3, last rule).
  package func isCloseDelimited(method: String) -> Bool {
    guard majorVersion == 1, method != "HEAD", status != 204, status != 304 else { return false }
    return framing.contentLength == nil && !framing.isChunked
  }

  /// Takes one line with its line end: of the head, or of the trailer section after the body.
  ///
  /// - Parameters:
  ///   - latest: what was kept of the latest head of the same server. It changes no verdict, only what it costs.
  ///   - now: in nanoseconds, for the rate of interim responses. Default 0: there is no clock, and only progress
  ///     counts.
  /// - Throws: ``HeadViolation``; the response cannot be trusted then, and the machine is not to be used any more.
  package mutating func consume(
    line: UnsafeRawBufferPointer, resembling latest: KnownHead? = nil, now: UInt64 = 0
  ) throws(HeadViolation) -> Event {
    bytes += line.count
    guard bytes <= maximumHeadBytes else {
      // The verdict does not depend on the pieces that a line comes in.
      try checkBeginning(line)
      throw tooLarge
    }
    if case .statusLine = state { begin(resembling: latest) }
    if likeness != .none, let known {
      // Here and not in a function: it is all that most lines come to.
      if lineCount <= maximumFields, known.lines.hasLine(line, at: lineCount) {
        if lineCount == 0 { beginFields(of: known) }
        lineCount += 1
        return .needsMore
      }
      if let event = try follow(known, line) { return event }
    }
    return try read(line, now)
  }

  /// Bytes of the request's body were sent: the server may send more interim responses.
  package mutating func sentBody(_ count: Int) { interims.sent(count) }

  /// A line has no end yet. What speaks another protocol may never send one.
  ///
  /// - Throws: ``HeadViolation`` where the head would be too large with it, or it begins no head.
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
      majorVersion = head.version.major
      state = .fields
      return .needsMore
    case .fields:
      if content.isEmpty { return try finish(now) }
      lines.append(line)
      if let known, known.lines.hasLine(line, at: lineCount), head.fields.count < maximumFields {
        head.fields.append(known.head.fields[lineCount - 1])
        isFieldLeftOut = false
      } else {
        try addField(content)
      }
      return .needsMore
    case .trailers:
      if content.isEmpty { return .trailers }
      try addTrailer(content)
      return .needsMore
    }
  }

  private mutating func finish(_ now: UInt64) throws(HeadViolation) -> Event {
    if head.status == 101 {
      known = nil
      if request == .upgrade { return .final(head) }
      throw HeadViolation(.unexpectedUpgrade, "the server answered 101 Switching Protocols, which was not asked for")
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
    status = head.status
    state = .trailers
    known = mayBeKept ? KnownHead(head, framing: framing, lines: lines) : nil
    lines = KnownLines()
    defer { head.fields = [] }
    return .final(head)
  }

  /// Whether the framing of the head holds for the next request too, whatever its method.
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
    // The fold of a field that was left out is left out with it.
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

  private mutating func addTrailer(_ line: UnsafeRawBufferPointer) throws(HeadViolation) {
    trailerCount += 1
    guard trailerCount <= maximumFields else {
      throw HeadViolation(.tooManyFields, "the response has more than \(maximumFields.counted("trailer field"))")
    }
    _ = try FieldLine.parse(line)
  }

  /// Whether a line continues the value of the previous line.
  static func isFold(_ line: UnsafeRawBufferPointer) -> Bool { line.first.map(\.isSpace) ?? false }

  /// Whether a line has nothing but its end.
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
