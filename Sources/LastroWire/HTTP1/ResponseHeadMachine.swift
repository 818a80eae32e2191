// SPDX-License-Identifier: Apache-2.0

/// Reads a response head line by line, as an HTTP library hands over raw lines, and refuses what RFC 9112 does not allow.
///
/// Rules for editing: no I/O, no clock, nothing kept of the caller's bytes.
///
/// Leniencies: a line may end in LF alone (RFC 9112 §2.2); the reason phrase, and the space before it, may be missing
/// (§4); an obsolete fold becomes one space (§5.2), but not in a field that frames the body; a `Content-Length` may be
/// repeated with the same value (RFC 9110 §8.6), and framing fields of 204 and 304 are not held against them; a value
/// that is not UTF-8 is read as ISO 8859-1.
package struct ResponseHeadMachine {
  package enum Event: Equatable {
    case needsMore
    /// A 1xx response; the final one is still to come.
    case informational(Int)
    case final(ResponseHead)
    case trailers
  }

  private enum State {
    case statusLine
    case fields
    case trailers
  }

  private let maximumHeadBytes: Int
  private let maximumFields: Int
  private let maximumInterimResponses: Int
  private var state = State.statusLine
  /// The head that is being read.
  private var head = ResponseHead(version: (0, 0), status: 0, reason: "")
  private var bytes = 0
  private var trailerCount = 0
  private var interimResponses = 0
  private var status = 0
  private var majorVersion: UInt8 = 0

  /// How the body is delimited; known once the final head was given.
  package private(set) var framing = ResponseFraming()

  package init(maximumHeadBytes: Int, maximumFields: Int, maximumInterimResponses: Int) {
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
  /// - Throws: ``HeadViolation``; the response cannot be trusted then, and the machine is not to be used any more.
  package mutating func consume(line: UnsafeRawBufferPointer) throws(HeadViolation) -> Event {
    bytes += line.count
    guard bytes <= maximumHeadBytes else {
      throw HeadViolation(.headTooLarge, "the response head exceeds \(maximumHeadBytes) bytes")
    }
    let content = try Self.withoutLineEnd(line)
    switch state {
    case .statusLine:
      head = try StatusLine.parse(content)
      head.fields.reserveCapacity(min(16, maximumFields))
      majorVersion = head.version.major
      state = .fields
      return .needsMore
    case .fields:
      if content.isEmpty { return try finish() }
      try addField(content)
      return .needsMore
    case .trailers:
      if content.isEmpty { return .trailers }
      try addTrailer(content)
      return .needsMore
    }
  }

  private mutating func finish() throws(HeadViolation) -> Event {
    if head.status == 101 {
      throw HeadViolation(.unexpectedUpgrade, "101 Switching Protocols was not asked for")
    }
    if head.status < 200 {
      _ = try ResponseFraming(head)
      interimResponses += 1
      guard interimResponses <= maximumInterimResponses else {
        throw HeadViolation(.tooManyInterimResponses, "more than \(maximumInterimResponses) interim responses")
      }
      state = .statusLine
      return .informational(head.status)
    }
    framing = try ResponseFraming(head)
    status = head.status
    state = .trailers
    defer { head.fields = [] }
    return .final(head)
  }

  private mutating func addField(_ line: UnsafeRawBufferPointer) throws(HeadViolation) {
    if let first = line.first, first == 0x20 || first == 0x09 {
      guard let last = head.fields.indices.last else {
        throw HeadViolation(.fieldName, "a fold before the first field")
      }
      let name = head.fields[last].name
      guard !name.isASCII("content-length"), !name.isASCII("transfer-encoding") else {
        throw HeadViolation(.fieldValue, "a field that frames the body is folded")
      }
      let folded = try FieldLine.value(line)
      head.fields[last].value += head.fields[last].value.isEmpty || folded.isEmpty ? folded : " " + folded
      return
    }
    guard head.fields.count < maximumFields else {
      throw HeadViolation(.tooManyFields, "the response head has more than \(maximumFields) fields")
    }
    head.fields.append(try FieldLine.parse(line))
  }

  private mutating func addTrailer(_ line: UnsafeRawBufferPointer) throws(HeadViolation) {
    trailerCount += 1
    guard trailerCount <= maximumFields else {
      throw HeadViolation(.tooManyFields, "the response has more than \(maximumFields) trailer fields")
    }
    if let first = line.first, first == 0x20 || first == 0x09 {
      _ = try FieldLine.value(line)
    } else {
      _ = try FieldLine.parse(line)
    }
  }

  private static func withoutLineEnd(_ line: UnsafeRawBufferPointer) throws(HeadViolation) -> UnsafeRawBufferPointer {
    var end = line.count
    guard end > 0, line[end - 1] == 0x0A else { throw HeadViolation(.lineEnd, "a line of the head has no end") }
    end -= 1
    if end > 0, line[end - 1] == 0x0D { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: line[..<end])
  }
}
