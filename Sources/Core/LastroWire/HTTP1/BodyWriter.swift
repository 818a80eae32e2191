// SPDX-License-Identifier: Apache-2.0

/// Frames the body of a request (RFC 9112 §6, §7.1). It counts the bytes of a body of known length, and supplies the
/// bytes that surround the caller's data if the body is chunked. It never touches or copies the body.
///
/// ```swift
/// var rest = bytes[...]
/// while !rest.isEmpty {
///   let piece = try writer.frame(rest.count)
///   piece.withPrefix { queue($0) }; queue(rest.prefix(piece.count)); queue(piece.suffix)
///   rest = rest.dropFirst(piece.count)
/// }
/// queue(try writer.end())
/// ```
package struct BodyWriter: Sendable {
  /// The maximum size of a chunk in bytes.
  package static let maximumChunkBytes = 65_536

  /// The framing of the next bytes to send: a prefix, `count` bytes of the body, then a suffix.
  package struct Piece: Equatable, Sendable {
    package let count: Int
    package let isChunk: Bool

    /// Calls `body` with the chunk size and its line end, at most 7 bytes; with no bytes if the body is not chunked.
    package func withPrefix<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
      guard isChunk else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
      // In memory order: each digit is put in front of the previous bytes, the lowest digit first.
      var packed: UInt64 = 0x0A0D  // CR LF
      var length = 2
      var rest = count
      repeat {
        let digit = UInt64(rest & 15)
        packed = packed << 8 | (digit < 10 ? 0x30 + digit : 0x57 + digit)
        length += 1
        rest >>= 4
      } while rest > 0
      packed = packed.littleEndian
      return try withUnsafeBytes(of: &packed) { try body(UnsafeRawBufferPointer(rebasing: $0[..<length])) }
    }

    /// The bytes that follow the body's bytes: a chunk's line end, or nothing.
    package var suffix: StaticString { isChunk ? "\r\n" : "" }
  }

  private let framing: RequestFraming
  /// The number of body bytes that have been framed so far.
  package private(set) var sentBytes: Int64 = 0

  package init(_ framing: RequestFraming) { self.framing = framing }

  /// Frames the next bytes of the body. The piece may cover fewer than `available` bytes.
  ///
  /// - Parameter available: more than 0. An empty chunk would end the body.
  /// - Throws: ``RequestViolation`` of kind `body` if the body is longer than announced.
  package mutating func frame(_ available: Int) throws(RequestViolation) -> Piece {
    switch framing {
    case .none: throw Self.tooLong(0)
    case .length(let length):
      guard Int64(available) <= length - sentBytes else { throw Self.tooLong(length) }
      sentBytes += Int64(available)
      return Piece(count: available, isChunk: false)
    case .chunked:
      let count = min(available, Self.maximumChunkBytes)
      sentBytes += Int64(count)
      return Piece(count: count, isChunk: count > 0)
    }
  }

  /// Ends the body. Returns the bytes that follow it: the last chunk and the trailers, or nothing.
  ///
  /// - Parameter trailers: fields whose values are known only now. The head should have named them in `Trailer`.
  /// - Throws: ``RequestViolation`` of kind `body` if the body is shorter than announced, or if there are trailers but
  ///   no chunks; of kind `trailer` for a field that is only valid in a head (RFC 9110 §6.5.1); of kind `fieldName` or
  ///   `fieldValue` for a field that cannot be sent.
  package mutating func end(trailers: [ResponseHead.Field] = []) throws(RequestViolation) -> [UInt8] {
    guard case .chunked = framing else {
      if case .length(let length) = framing, sentBytes < length {
        throw RequestViolation(
          .body, "the body ended after \(sentBytes.counted("byte")), and its Content-Length is \(length)")
      }
      guard trailers.isEmpty else {
        throw RequestViolation(.body, "trailers need a body whose length is not announced")
      }
      return []
    }
    if trailers.isEmpty { return Array("0\r\n\r\n".utf8) }
    var fields = RequestWriter()
    for field in trailers {
      guard !TrailerNames.areForbiddenInRequests(field.name) else {
        throw RequestViolation(.trailer, "the field \(field.name) is valid only in a head, and not as a trailer")
      }
      try fields.add(field.name, field.value)
    }
    let lines = fields.withBytes { Array($0) }
    return Array("0\r\n".utf8) + lines + [0x0D, 0x0A]
  }

  private static func tooLong(_ length: Int64) -> RequestViolation {
    RequestViolation(.body, "the body has more bytes than its Content-Length, which is \(length)")
  }
}
