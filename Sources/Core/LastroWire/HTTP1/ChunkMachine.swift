// SPDX-License-Identifier: Apache-2.0

/// Decodes `chunked` (RFC 9112 §7.1) strictly: a size consists of hexadecimal digits only, the rest of its line must
/// match the grammar of extensions, and lines end in CRLF. Extensions are ignored. Trailers are kept, except for fields
/// that are only valid in a head.
///
/// The machine copies no data: it reports the positions of data in its input.
package struct ChunkMachine {
  private enum State {
    case size
    case afterSize
    case lineEnd
    case data
    case dataCR
    case dataLF
    case trailers
    case done
  }

  private static let maximumDigits = 16
  private static let maximumExtension = 4_096
  /// The number of bytes of size lines that each chunk pays for, in addition to twice its data.
  private static let paidBytes: Int64 = 256
  /// The number of size-line bytes that a server may use beyond those.
  private static let maximumExcess: Int64 = 16_384

  private var state = State.size
  private var size: Int64 = 0
  private var digits = 0
  private var extensions = ChunkExtension()
  private var extensionBytes = 0
  private var excess: Int64 = 0
  private var trailerSection: TrailerSection

  /// Creates a machine at the beginning of a body.
  ///
  /// - Parameters:
  ///   - maximumTrailerBytes: the limit of the trailer section.
  ///   - maximumTrailerFields: the limit of trailer fields, including ignored ones.
  package init(maximumTrailerBytes: Int = 65_536, maximumTrailerFields: Int = 512) {
    trailerSection = TrailerSection(maximumBytes: maximumTrailerBytes, maximumFields: maximumTrailerFields)
  }

  /// Whether the last chunk and the trailers have been read.
  package var isDone: Bool { if case .done = state { true } else { false } }

  package var trailers: [ResponseHead.Field] { trailerSection.fields }

  /// Skips framing bytes up to the next data. Returns the number of data bytes at `position`; call ``markUsed(_:)``
  /// with the number that was used. Returns 0 if all bytes have been consumed, or if the body has ended at `position`.
  package mutating func findData(
    in bytes: UnsafeRawBufferPointer, at position: inout Int
  ) throws(HeadViolation) -> Int {
    while position < bytes.count {
      switch state {
      case .data: return Int(min(size, Int64(bytes.count - position)))
      case .done: return 0
      case .trailers:
        if try trailerSection.consume(bytes, from: &position) { state = .done }
      default:
        try parse(byte: bytes[position])
        position += 1
      }
    }
    return 0
  }

  /// Marks data bytes as used.
  package mutating func markUsed(_ count: Int) {
    size -= Int64(count)
    if size == 0 { state = .dataCR }
  }

  private mutating func parse(byte: UInt8) throws(HeadViolation) {
    switch (state, byte) {
    case (.size, _): try parse(sizeByte: byte)
    case (.afterSize, 0x0D): try endSize()
    case (.afterSize, _): try parse(extensionByte: byte)
    case (.lineEnd, 0x0A): beginChunk()
    case (.dataCR, 0x0D): state = .dataLF
    case (.dataLF, 0x0A): state = .size
    case (.dataCR, _), (.dataLF, _): throw Self.violation("a chunk does not end where its size says")
    default: throw Self.violation("the line of a chunk's size does not end in CRLF")
    }
  }

  private mutating func parse(sizeByte byte: UInt8) throws(HeadViolation) {
    guard let digit = byte.hexadecimalValue else {
      guard digits > 0 else { throw Self.violation("a chunk has no size") }
      state = .afterSize
      return try parse(byte: byte)
    }
    digits += 1
    guard digits <= Self.maximumDigits, size <= Int64.max >> 4 else {
      throw Self.violation("the size of a chunk has too many digits")
    }
    size = size << 4 | Int64(digit)
  }

  private mutating func parse(extensionByte byte: UInt8) throws(HeadViolation) {
    extensionBytes += 1
    guard extensions.consume(byte) else {
      throw Self.violation("the text after the size of a chunk is not an extension")
    }
    guard extensionBytes <= Self.maximumExtension else {
      throw Self.violation("an extension of a chunk is longer than \(Self.maximumExtension) bytes")
    }
  }

  private mutating func endSize() throws(HeadViolation) {
    guard extensions.mayEnd else { throw Self.violation("an extension of a chunk is incomplete") }
    let owed = size > Self.maximumExcess ? 0 : excess + Int64(digits + extensionBytes) - Self.paidBytes - 2 * size
    excess = max(0, owed)
    guard excess <= Self.maximumExcess else {
      throw Self.violation("the chunks carry more extensions than data")
    }
    state = .lineEnd
  }

  private mutating func beginChunk() {
    state = size == 0 ? .trailers : .data
    extensions = ChunkExtension()
    (digits, extensionBytes) = (0, 0)
  }

  private static func violation(_ message: String) -> HeadViolation { HeadViolation(.transferEncoding, message) }
}
