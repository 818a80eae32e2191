// SPDX-License-Identifier: Apache-2.0

/// A fault in a reply, after which nothing that follows can be read.
enum RESPViolation: Error, Sendable, Hashable {
  /// The first byte of a value is not one of `+`, `-`, `:`, `$` and `*`.
  case unknownType(UInt8)
  /// A line does not end with CR LF, or a bulk string does not.
  case brokenLine
  /// A line is longer than 64 KiB.
  case longLine
  /// An integer or a length is not a decimal number of 64 bits, or the length is negative and not -1.
  case invalidNumber
  /// A reply has more than 16 MiB of text.
  case largeReply
  /// The arrays of a reply have more than 65,536 elements.
  case manyElements
  /// Arrays are nested more than eight deep.
  case deepNesting

  /// The fault as the predicate of "the reply …".
  var text: String {
    switch self {
    case .unknownType(let byte): "has a value of the unknown type \(byte)"
    case .brokenLine: "has a line that does not end with CR LF"
    case .longLine: "has a line above the limit of \(RESPReader.maximumLineBytes) bytes"
    case .invalidNumber: "has an invalid number"
    case .largeReply: "is above the limit of \(RESPReader.maximumBytes) bytes"
    case .manyElements: "has more than \(RESPReader.maximumElements) elements"
    case .deepNesting: "has more than \(RESPReader.maximumDepth) nested arrays"
    }
  }
}

/// Reads replies of RESP2 from bytes that arrive in any pieces.
///
/// Memory follows the bytes that have arrived, and never a length that the server declares.
struct RESPReader {
  static let maximumBytes = 16 << 20
  static let maximumElements = 65_536
  static let maximumDepth = 8
  static let maximumLineBytes = 65_536

  private static let carriageReturn = UInt8(ascii: "\r")
  private static let lineFeed = UInt8(ascii: "\n")

  private enum Phase {
    /// Before the first byte of a value.
    case type
    /// In the line of a value of a type.
    case line(UInt8)
    /// In a bulk string, of which a number of bytes is missing.
    case bulk(Int)
    /// Behind a bulk string, before its line end.
    case bulkEnd
  }

  /// An array that is not complete.
  private struct Frame {
    var missing: Int
    var elements: [RESPValue] = []
  }

  private var phase = Phase.type
  private var frames: [Frame] = []
  /// The line or the bulk string so far.
  private var text: [UInt8] = []
  /// Whether the last byte of a line was CR.
  private var isAfterReturn = false
  /// The bytes and the elements of the reply so far, the missing ones included.
  private var size = 0
  private var elements = 0
  private var violation: RESPViolation?

  init() {}

  /// Whether no byte of a further reply has arrived.
  var isBetweenReplies: Bool { if case .type = phase { frames.isEmpty } else { false } }

  /// Reads bytes, and appends the replies that they complete.
  ///
  /// - Throws: ``RESPViolation``, then and at each later call. The replies before the fault have been appended.
  mutating func read(_ bytes: [UInt8], into replies: inout [RESPValue]) throws(RESPViolation) {
    if let violation { throw violation }
    do throws(RESPViolation) {
      var rest = bytes[...]
      while !rest.isEmpty { try step(&rest, &replies) }
    } catch {
      violation = error
      throw error
    }
  }

  private mutating func step(_ rest: inout ArraySlice<UInt8>, _ replies: inout [RESPValue]) throws(RESPViolation) {
    switch phase {
    case .type:
      let type = rest.removeFirst()
      guard "+-:$*".utf8.contains(type) else { throw .unknownType(type) }
      phase = .line(type)
    case .line(let type):
      guard try endsLine(rest.removeFirst()) else { return }
      let line = text
      text = []
      try finish(line, of: type, &replies)
    case .bulk(let missing):
      let piece = rest.prefix(missing)
      text += piece
      rest = rest.dropFirst(piece.count)
      phase = missing == piece.count ? .bulkEnd : .bulk(missing - piece.count)
    case .bulkEnd:
      let byte = rest.removeFirst()
      guard byte == (isAfterReturn ? Self.lineFeed : Self.carriageReturn) else { throw .brokenLine }
      isAfterReturn.toggle()
      if isAfterReturn { return }
      let bulk = text
      text = []
      add(.bulk(bulk), &replies)
    }
  }

  /// Adds a byte to the line. Returns whether the line is complete.
  private mutating func endsLine(_ byte: UInt8) throws(RESPViolation) -> Bool {
    if isAfterReturn || byte == Self.lineFeed {
      guard isAfterReturn, byte == Self.lineFeed else { throw .brokenLine }
      isAfterReturn = false
      return true
    }
    if byte == Self.carriageReturn {
      isAfterReturn = true
      return false
    }
    guard text.count < Self.maximumLineBytes else { throw .longLine }
    try grow(by: 1)
    text.append(byte)
    return false
  }

  private mutating func finish(
    _ line: [UInt8], of type: UInt8, _ replies: inout [RESPValue]
  ) throws(RESPViolation) {
    switch type {
    case UInt8(ascii: "+"): add(.simple(String(decoding: line, as: UTF8.self)), &replies)
    case UInt8(ascii: "-"): add(.error(String(decoding: line, as: UTF8.self)), &replies)
    case UInt8(ascii: ":"): add(.integer(try number(line)), &replies)
    case UInt8(ascii: "$"):
      guard let length = try length(line) else { return add(.null, &replies) }
      guard length <= Self.maximumBytes else { throw .largeReply }
      try grow(by: Int(length))
      phase = length == 0 ? .bulkEnd : .bulk(Int(length))
    default:
      guard let count = try length(line) else { return add(.null, &replies) }
      guard count <= Self.maximumElements - elements else { throw .manyElements }
      guard count > 0 else { return add(.array([]), &replies) }
      guard frames.count < Self.maximumDepth else { throw .deepNesting }
      elements += Int(count)
      frames.append(Frame(missing: Int(count)))
      phase = .type
    }
  }

  private mutating func grow(by count: Int) throws(RESPViolation) {
    guard count <= Self.maximumBytes - size else { throw .largeReply }
    size += count
  }

  /// Adds a value to the innermost array, and ends the arrays that it completes.
  private mutating func add(_ value: RESPValue, _ replies: inout [RESPValue]) {
    phase = .type
    var value = value
    while var frame = frames.popLast() {
      frame.elements.append(value)
      frame.missing -= 1
      if frame.missing > 0 { return frames.append(frame) }
      value = .array(frame.elements)
    }
    replies.append(value)
    (size, elements) = (0, 0)
  }

  /// Returns a length; `nil` for -1, the length of null.
  private func length(_ line: [UInt8]) throws(RESPViolation) -> Int64? {
    let length = try number(line)
    guard length >= -1 else { throw .invalidNumber }
    return length == -1 ? nil : length
  }

  private func number(_ line: [UInt8]) throws(RESPViolation) -> Int64 {
    let digits = line.first == UInt8(ascii: "-") ? line.dropFirst() : line[...]
    let isPlain = !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
    // One number has one form: no leading zeros, and no zero with a sign.
    guard isPlain, digits.first != UInt8(ascii: "0") || line.count == 1,
      let number = Int64(String(decoding: line, as: UTF8.self))
    else { throw .invalidNumber }
    return number
  }
}
