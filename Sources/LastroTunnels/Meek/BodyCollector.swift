// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Collects a body of HTTP/1.1 out of bytes that come in any pieces (RFC 9112 §6, §7).
struct BodyCollector {
  private enum State {
    case untilEnd
    case counted(Int)
    case chunkSize
    case chunk(Int)
    case chunkEnd
    case trailers
    case done
  }

  private static let maximumLineBytes = 4096
  private static let maximumTrailerLines = 100

  private let maximum: Int
  private var state: State
  private var trailerLines = 0
  private(set) var bytes = Data()
  /// Not consumed yet; what follows the body, once it is done.
  private(set) var rest = Data()
  /// Whether the body's end is told by something else than the connection's.
  let isDelimited: Bool

  /// - Parameter framing: how the body is delimited; `nil` where there is none.
  init(_ framing: ResponseFraming?, maximum: Int) {
    self.maximum = maximum
    switch framing {
    case nil: state = .done
    case let framing? where framing.isChunked: state = .chunkSize
    case let framing?: state = framing.contentLength.map { .counted(Int(clamping: $0)) } ?? .untilEnd
    }
    if case .untilEnd = state { isDelimited = false } else { isDelimited = true }
  }

  /// Takes more bytes; `nil` is the connection's end. True when the body is complete.
  mutating func consume(_ input: Data?) throws(TransportError) -> Bool {
    if let input { rest.append(input) }
    while try advance() {}
    if case .done = state { return true }
    guard input == nil else { return false }
    guard case .untilEnd = state else {
      throw TransportError(
        stage: .response, code: .truncatedBody, message: "the connection ended before the body did", requestSent: true)
    }
    return true
  }

  /// False when more bytes are needed, or none.
  private mutating func advance() throws(TransportError) -> Bool {
    switch state {
    case .done: return false
    case .untilEnd:
      try take(rest.count)
      return false
    case .counted(let count): return try takePart(of: count, then: State.counted, end: .done)
    case .chunk(let count): return try takePart(of: count, then: State.chunk, end: .chunkEnd)
    case .chunkSize:
      guard let line = try line() else { return false }
      let size = try Self.size(line)
      state = size == 0 ? .trailers : .chunk(size)
      return true
    case .chunkEnd:
      guard let line = try line() else { return false }
      guard line.isEmpty else { throw .malformed("a chunk has no end") }
      state = .chunkSize
      return true
    case .trailers:
      guard let line = try line() else { return false }
      trailerLines += 1
      guard trailerLines <= Self.maximumTrailerLines else { throw .malformed("there are too many trailer fields") }
      if line.isEmpty { state = .done }
      return true
    }
  }

  private mutating func takePart(
    of count: Int, then next: (Int) -> State, end: State
  ) throws(TransportError) -> Bool {
    let part = min(count, rest.count)
    try take(part)
    state = part == count ? end : next(count - part)
    return part == count
  }

  private mutating func take(_ count: Int) throws(TransportError) {
    guard count <= maximum - bytes.count else {
      throw TransportError(
        stage: .limit, code: .bodyTooLarge, message: "the body exceeds \(maximum) bytes", requestSent: true)
    }
    bytes.append(rest.prefix(count))
    rest = Data(rest.dropFirst(count))
  }

  /// Without its end; `nil` when it is not complete.
  private mutating func line() throws(TransportError) -> Data? {
    guard let end = rest.prefix(Self.maximumLineBytes).firstIndex(of: 0x0A) else {
      guard rest.count < Self.maximumLineBytes else { throw .malformed("a line in the body is too long") }
      return nil
    }
    var line = Data(rest[rest.startIndex..<end])
    rest = Data(rest[(end + 1)...])
    if line.last == 0x0D { line.removeLast() }
    return line
  }

  private static func size(_ line: Data) throws(TransportError) -> Int {
    let digits = line.prefix { $0.hexadecimalValue != nil }
    let extensions = line.dropFirst(digits.count)
    guard (1...8).contains(digits.count), [nil, 0x3B, 0x20, 0x09].contains(extensions.first) else {
      throw .malformed("a chunk has no size")
    }
    return digits.reduce(0) { $0 << 4 | Int($1.hexadecimalValue ?? 0) }
  }
}

extension TransportError {
  static func malformed(_ message: String) -> Self {
    Self(stage: .response, code: .malformedResponse, message: message, requestSent: true)
  }
}
