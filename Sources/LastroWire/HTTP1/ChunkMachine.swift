// SPDX-License-Identifier: Apache-2.0

/// Undoes `chunked` (RFC 9112 §7.1), strictly: a size is hexadecimal digits and nothing else, what follows it is an
/// extension of the grammar, lines end in CRLF. Extensions are dropped; trailers are kept, but for those that mean
/// something in a head only.
///
/// It copies no data: it tells where they lie in the bytes it is given.
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
  /// Bytes of lines that each chunk pays for, besides twice its data.
  private static let paidBytes: Int64 = 256
  /// Bytes of lines beyond those, which a server may owe.
  private static let maximumExcess: Int64 = 16_384

  private var state = State.size
  private var size: Int64 = 0
  private var digits = 0
  private var extensions = ChunkExtension()
  private var extensionBytes = 0
  private var excess: Int64 = 0
  private var trailerSection: TrailerSection

  /// - Parameters:
  ///   - maximumTrailerBytes: of the trailer section.
  ///   - maximumTrailerFields: of those, the ones that are dropped included.
  package init(maximumTrailerBytes: Int = 65_536, maximumTrailerFields: Int = 512) {
    trailerSection = TrailerSection(maximumBytes: maximumTrailerBytes, maximumFields: maximumTrailerFields)
  }

  /// Whether the last chunk and the trailers have come.
  package var isDone: Bool { if case .done = state { true } else { false } }

  package var trailers: [ResponseHead.Field] { trailerSection.fields }

  /// Passes over bytes that are not data. Where data lie at `position` then, the result is how many; ``take(_:)`` is to
  /// be told how many of them were used. 0: the bytes are used up, or the body has ended at `position`.
  package mutating func findData(
    in bytes: UnsafeRawBufferPointer, at position: inout Int
  ) throws(HeadViolation) -> Int {
    while position < bytes.count {
      switch state {
      case .data: return Int(min(size, Int64(bytes.count - position)))
      case .done: return 0
      case .trailers:
        if try trailerSection.take(bytes, from: &position) { state = .done }
      default:
        try take(byte: bytes[position])
        position += 1
      }
    }
    return 0
  }

  /// So many bytes of the data that were found are used.
  package mutating func take(_ count: Int) {
    size -= Int64(count)
    if size == 0 { state = .dataCR }
  }

  private mutating func take(byte: UInt8) throws(HeadViolation) {
    switch (state, byte) {
    case (.size, _): try take(sizeByte: byte)
    case (.afterSize, 0x0D): try endSize()
    case (.afterSize, _): try take(extensionByte: byte)
    case (.lineEnd, 0x0A): beginChunk()
    case (.dataCR, 0x0D): state = .dataLF
    case (.dataLF, 0x0A): state = .size
    case (.dataCR, _), (.dataLF, _): throw Self.violation("a chunk does not end where its size says")
    default: throw Self.violation("the line of a chunk's size does not end in CRLF")
    }
  }

  private mutating func take(sizeByte byte: UInt8) throws(HeadViolation) {
    let digit: UInt8? =
      switch byte {
      case 0x30...0x39: byte - 0x30
      case 0x41...0x46: byte - 0x41 + 10
      case 0x61...0x66: byte - 0x61 + 10
      default: nil
      }
    guard let digit else {
      guard digits > 0 else { throw Self.violation("a chunk has no size") }
      state = .afterSize
      return try take(byte: byte)
    }
    digits += 1
    guard digits <= Self.maximumDigits, size <= Int64.max >> 4 else {
      throw Self.violation("the size of a chunk has too many digits")
    }
    size = size << 4 | Int64(digit)
  }

  private mutating func take(extensionByte byte: UInt8) throws(HeadViolation) {
    extensionBytes += 1
    guard extensions.take(byte) else {
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
