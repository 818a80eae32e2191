// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Glibc

/// Reads pieces of standard input as they arrive, on a thread of its own because reading blocks. It reads only on
/// demand.
///
/// The thread may wait for input that never arrives: it ends with the process.
final class StandardInputReader: Sendable {
  private let pieces: AsyncThrowingStream<Data, any Error>
  private let queue = DispatchQueue(label: "lastro.stdin")
  private let wanted = DispatchSemaphore(value: 0)

  /// The error for input that cannot be read.
  struct ReadFailure: Error, CustomStringConvertible {
    let description: String
  }

  /// - Parameter longestPiece: the maximum number of bytes in a piece.
  init(longestPiece: Int = 65_536) {
    let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
    pieces = stream
    queue.async { [wanted] in Self.read(longestPiece, into: continuation, wanted) }
  }

  /// Returns the next piece; `nil` at the end. For one caller at a time.
  func next() async throws -> Data? {
    wanted.signal()
    for try await piece in pieces { return piece }
    return nil
  }

  private static func read(
    _ longest: Int, into continuation: AsyncThrowingStream<Data, any Error>.Continuation,
    _ wanted: DispatchSemaphore
  ) {
    var buffer = [UInt8](repeating: 0, count: longest)
    while true {
      wanted.wait()
      let count = buffer.withUnsafeMutableBytes { Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR {
        wanted.signal()
        continue
      }
      guard count >= 0 else {
        let reason = String(cString: strerror(errno))
        return continuation.finish(throwing: ReadFailure(description: "standard input cannot be read: \(reason)"))
      }
      guard count > 0 else { return continuation.finish() }
      continuation.yield(Data(buffer[..<count]))
    }
  }
}

/// Reads lines of standard input without their terminators, LF or CRLF; the last line may have none.
struct StandardInputLines {
  private let reader = StandardInputReader()
  private let cutsLongLines: Bool
  private var piece = Data()
  /// The index in `piece` at which the next line begins.
  private var start = 0
  private var isAtEnd = false
  /// The maximum length of a line in bytes.
  static let maximumLength = 64 * 1024 * 1024

  /// - Parameter cutsLongLines: whether a line over the limit is cut to one byte more than the limit. Otherwise reading
  ///   fails.
  init(cutsLongLines: Bool = false) { self.cutsLongLines = cutsLongLines }

  /// Returns the next line; `nil` at the end.
  mutating func next() async throws -> Data? {
    var line = Data()
    while true {
      let end = piece[start...].firstIndex(of: 0x0A)
      line += piece[start..<(end ?? piece.endIndex)].prefix(Self.maximumLength + 1 - line.count)
      guard cutsLongLines || line.count <= Self.maximumLength else {
        throw StandardInputReader.ReadFailure(description: "a line is longer than \(Self.maximumLength) bytes")
      }
      if let end {
        start = end + 1
        if line.count <= Self.maximumLength, line.last == 0x0D { line.removeLast() }
        return line
      }
      (piece, start) = (Data(), 0)
      if isAtEnd { return line.isEmpty ? nil : line }
      if let more = try await reader.next() { piece = Data(more) } else { isAtEnd = true }
    }
  }
}
