// SPDX-License-Identifier: Apache-2.0

/// Takes the body of a response out of the bytes of a connection (RFC 9112 §6.3), for those who read HTTP/1.1 themselves.
///
/// Trailers are read and dropped, up to 512 lines and 64 KiB.
package struct ResponseBodyMachine {
  private enum State {
    case bytes(Int64)
    case chunkSize
    case chunk(Int64)
    case chunkEnd
    case trailers
    case untilClose
    case done
  }

  private static let maximumLineBytes = 16_384
  private static let maximumTrailerLines = 512
  private static let maximumTrailerBytes = 65_536

  private var state: State
  private var trailerLines = 0
  private var trailerBytes = 0
  private var line: [UInt8] = []

  /// - Parameters:
  ///   - framing: of the response's head.
  ///   - hasNoBody: for answers to HEAD, 1xx, 204 and 304.
  package init(_ framing: ResponseFraming, hasNoBody: Bool = false) {
    if hasNoBody {
      state = .done
    } else if framing.isChunked {
      state = .chunkSize
    } else if let length = framing.contentLength {
      state = length == 0 ? .done : .bytes(length)
    } else {
      state = .untilClose
    }
  }

  package var isDone: Bool { if case .done = state { true } else { false } }

  /// Whether the body may end where the connection does.
  package var mayEndHere: Bool {
    switch state {
    case .done, .untilClose: true
    default: false
    }
  }

  /// Takes bytes, and appends those of the body to `body`.
  package mutating func consume(
    _ bytes: UnsafeRawBufferPointer, into body: inout [UInt8]
  ) throws(HeadViolation) {
    var rest = bytes
    while !rest.isEmpty, !isDone {
      switch state {
      case .done: return
      case .untilClose:
        body += rest
        return
      case .bytes(let left):
        let count = take(left, &rest, &body)
        state = left == count ? .done : .bytes(left - count)
      case .chunk(let left):
        let count = take(left, &rest, &body)
        state = left == count ? .chunkEnd : .chunk(left - count)
      case .chunkSize, .chunkEnd, .trailers:
        guard let end = rest.firstIndex(of: 0x0A) else { return try keep(rest) }
        try keep(UnsafeRawBufferPointer(rebasing: rest[..<end]))
        rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
        if line.last == 0x0D { line.removeLast() }
        state = try afterLine()
        line = []
      }
    }
  }

  private func take(_ left: Int64, _ rest: inout UnsafeRawBufferPointer, _ body: inout [UInt8]) -> Int64 {
    let count = Int(min(left, Int64(rest.count)))
    body += rest[..<count]
    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    return Int64(count)
  }

  private mutating func keep(_ bytes: UnsafeRawBufferPointer) throws(HeadViolation) {
    guard bytes.count <= Self.maximumLineBytes - line.count else {
      throw HeadViolation(.headTooLarge, "a line of a chunked body is too long")
    }
    line += bytes
  }

  private mutating func afterLine() throws(HeadViolation) -> State {
    switch state {
    case .chunkSize:
      let size = try Self.chunkSize(line)
      return size == 0 ? .trailers : .chunk(size)
    case .chunkEnd:
      guard line.isEmpty else { throw HeadViolation(.transferEncoding, "a chunk is longer than it says") }
      return .chunkSize
    default:
      if line.isEmpty { return .done }
      try countTrailer()
      return .trailers
    }
  }

  private mutating func countTrailer() throws(HeadViolation) {
    trailerLines += 1
    trailerBytes += line.count
    guard trailerLines <= Self.maximumTrailerLines, trailerBytes <= Self.maximumTrailerBytes else {
      throw HeadViolation(.headTooLarge, "the trailers of a chunked body are too long")
    }
  }

  private static func chunkSize(_ line: [UInt8]) throws(HeadViolation) -> Int64 {
    let digits = line.prefix { $0 != 0x3B && $0 != 0x20 && $0 != 0x09 }
    guard !digits.isEmpty, digits.count <= 15, digits.allSatisfy(isHexadecimal),
      let size = Int64(String(decoding: digits, as: UTF8.self), radix: 16)
    else { throw HeadViolation(.transferEncoding, "a chunk has no valid size") }
    return size
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }
}
