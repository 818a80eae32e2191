// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Glibc

/// Reads pieces of standard input as they arrive, on a thread of its own because reading blocks. It reads only on
/// demand.
///
/// The thread may wait for input that never arrives: it ends with the process.
final class StandardInputReader: Sendable {
  private enum Piece: Sendable {
    case bytes(Data)
    case failure(String)
  }

  private let pieces: AsyncStream<Piece>
  private let queue = DispatchQueue(label: "lastro.stdin")
  private let wanted = DispatchSemaphore(value: 0)

  /// The error for input that cannot be read.
  struct ReadFailure: Error, CustomStringConvertible {
    let description: String
  }

  /// - Parameter longestPiece: the maximum number of bytes in a piece.
  init(longestPiece: Int = 65_536) {
    let (stream, continuation) = AsyncStream<Piece>.makeStream()
    pieces = stream
    queue.async { [wanted] in Self.read(longestPiece, into: continuation, wanted) }
  }

  /// Returns the next piece; `nil` at the end. For one caller at a time.
  func next() async throws -> Data? {
    wanted.signal()
    for await piece in pieces {
      switch piece {
      case .bytes(let data): return data
      case .failure(let reason): throw ReadFailure(description: reason)
      }
    }
    return nil
  }

  private static func read(
    _ longest: Int, into continuation: AsyncStream<Piece>.Continuation, _ wanted: DispatchSemaphore
  ) {
    var buffer = [UInt8](repeating: 0, count: longest)
    while true {
      wanted.wait()
      let count = buffer.withUnsafeMutableBytes { Glibc.read(STDIN_FILENO, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR {
        wanted.signal()
        continue
      }
      if count < 0 {
        continuation.yield(.failure("standard input cannot be read: \(String(cString: strerror(errno)))"))
      }
      guard count > 0 else { return continuation.finish() }
      continuation.yield(.bytes(Data(buffer[..<count])))
    }
  }
}

/// Reads lines of standard input without their terminators, LF or CRLF; the last line may have none.
struct StandardInputLines {
  private let reader = StandardInputReader()
  private var piece = Data()
  /// The index in `piece` at which the next line begins.
  private var start = 0
  private var isAtEnd = false
  /// The maximum length of a line in bytes.
  static let maximumLength = 64 * 1024 * 1024

  /// Returns the next line; `nil` at the end.
  mutating func next() async throws -> Data? {
    var line = Data()
    while true {
      if let end = piece[start...].firstIndex(of: 0x0A) {
        line += piece[start..<end]
        start = end + 1
        if line.last == 0x0D { line.removeLast() }
        return line
      }
      line += piece[start...]
      (piece, start) = (Data(), 0)
      if isAtEnd { return line.isEmpty ? nil : line }
      guard line.count <= Self.maximumLength else {
        throw StandardInputReader.ReadFailure(description: "a line is longer than \(Self.maximumLength) bytes")
      }
      if let more = try await reader.next() { piece = Data(more) } else { isAtEnd = true }
    }
  }
}
