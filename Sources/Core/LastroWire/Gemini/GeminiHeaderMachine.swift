// SPDX-License-Identifier: Apache-2.0

/// A rule of Gemini that a response header breaks, or a limit that it exceeds.
package typealias GeminiHeaderViolation = WireViolation<GeminiHeaderFault>

/// The parts of a response header that may be wrong.
package enum GeminiHeaderFault: Equatable, Sendable {
  case status
  case separator
  case meta
  case lineEnd
  case metaTooLong
  case early
}

/// Parses the header of a Gemini response from bytes that arrive in pieces, and rejects violations of the protocol.
///
/// The grammar: two digits, the first of them 1 to 6; a space and `meta`; CRLF. `meta` has at most 1,024 bytes, is
/// UTF-8, and has no control characters (C0, DEL, C1), as `VCHAR` of the specification 0.24 requires. A byte order mark
/// is not allowed either. `meta` may be empty, and then the space may be missing, too. The specification allows this
/// for classes 4 to 6 only; here it is allowed for all, because an empty `meta` has a known meaning in each of them.
///
/// Rules for editing: no I/O, no clock; never keeps more than a header may have.
package struct GeminiHeaderMachine: Sendable {
  package struct Header: Equatable, Sendable {
    package var status: Int
    package var meta: String

    package init(status: Int, meta: String) {
      self.status = status
      self.meta = meta
    }
  }

  package static let maximumMetaBytes = 1024
  /// The maximum size of a header in bytes: status, space, meta, CRLF.
  package static let maximumBytes = maximumMetaBytes + 5

  private enum State {
    case category
    case detail
    case separator
    case meta
    case lineFeed
    case done
  }

  private var state = State.category
  private var status = 0
  private var meta: [UInt8] = []

  package init() {}

  /// Whether the header is complete. No more bytes are consumed then.
  package var isComplete: Bool { if case .done = state { true } else { false } }

  /// The minimum number of bytes needed to complete the header: 4 at the start, 0 at the end.
  package var minimumMissingBytes: Int {
    switch state {
    case .category: 4
    case .detail: 3
    case .separator, .meta: 2
    case .lineFeed: 1
    case .done: 0
    }
  }

  /// Consumes bytes up to the end of the header.
  ///
  /// - Parameter bytes: the received bytes. Bytes from `consumed` on belong to the body.
  /// - Returns: the header once it is complete, and the number of bytes consumed.
  /// - Throws: ``GeminiHeaderViolation`` at the first invalid byte. The machine must not be used any more then.
  package mutating func consume(
    _ bytes: some Collection<UInt8>
  ) throws(GeminiHeaderViolation) -> (header: Header?, consumed: Int) {
    for (index, byte) in bytes.enumerated() {
      if isComplete { return (nil, index) }
      if try parse(byte) { return (try header(), index + 1) }
    }
    return (nil, bytes.count)
  }

  /// Ends the input.
  ///
  /// - Throws: ``GeminiHeaderViolation`` of kind `early` if the header is incomplete.
  package func finish() throws(GeminiHeaderViolation) {
    switch state {
    case .done: return
    case .category: throw GeminiHeaderViolation(.early, "the server closed the connection without a response")
    default: throw GeminiHeaderViolation(.early, "the server closed the connection within the response header")
    }
  }

  /// Consumes a byte. Returns whether the header ends with it.
  private mutating func parse(_ byte: UInt8) throws(GeminiHeaderViolation) -> Bool {
    switch state {
    case .category:
      guard byte &- 0x31 < 6 else { throw Self.badStatus }
      status = Int(byte - 0x30) * 10
      state = .detail
    case .detail:
      guard byte &- 0x30 < 10 else { throw Self.badStatus }
      status += Int(byte - 0x30)
      state = .separator
    case .separator:
      switch byte {
      case 0x20: state = .meta
      case 0x0D: state = .lineFeed
      case 0x0A: throw Self.bareLineFeed
      default:
        throw GeminiHeaderViolation(
          byte &- 0x30 < 10 ? .status : .separator, "the two digits of the status are not followed by a space")
      }
    case .meta: try parseMeta(byte)
    case .lineFeed:
      guard byte == 0x0A else {
        throw GeminiHeaderViolation(.lineEnd, "the response header has a CR without LF")
      }
      state = .done
      return true
    case .done: break
    }
    return false
  }

  private mutating func parseMeta(_ byte: UInt8) throws(GeminiHeaderViolation) {
    if byte == 0x0D {
      state = .lineFeed
      return
    }
    if byte == 0x0A { throw Self.bareLineFeed }
    guard byte >= 0x20, byte != 0x7F else {
      throw GeminiHeaderViolation(.meta, "the meta of the response has a control character")
    }
    guard meta.count < Self.maximumMetaBytes else {
      throw GeminiHeaderViolation(
        .metaTooLong, "the meta of the response exceeds \(Self.maximumMetaBytes) bytes")
    }
    meta.append(byte)
  }

  private mutating func header() throws(GeminiHeaderViolation) -> Header {
    guard let text = String(validating: meta, as: UTF8.self) else {
      throw GeminiHeaderViolation(.meta, "the meta of the response is not UTF-8")
    }
    for scalar in text.unicodeScalars where scalar.value < 0xA0 && scalar.value > 0x7F || scalar.value == 0xFEFF {
      throw GeminiHeaderViolation(
        .meta,
        "the meta of the response has \(scalar.value == 0xFEFF ? "a byte order mark" : "a control character") in it")
    }
    meta = []
    return Header(status: status, meta: text)
  }

  private static let badStatus = GeminiHeaderViolation(
    .status, "the response does not begin with a status, two digits from 10 to 69")
  private static let bareLineFeed = GeminiHeaderViolation(.lineEnd, "the response header ends in LF without CR")
}
