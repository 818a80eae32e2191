// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Glibc

/// Standard input in pieces, as they come. Reading blocks, so a thread of its own does it; it reads ahead one piece.
///
/// The thread may be left waiting for input that never comes: it ends with the process.
final class StandardInputReader: Sendable {
  private enum Piece: Sendable {
    case bytes(Data)
    case failure(String)
  }

  private let pieces: AsyncStream<Piece>
  private let queue = DispatchQueue(label: "lastro.stdin")
  private let wanted = DispatchSemaphore(value: 0)

  /// What cannot be read.
  struct ReadFailure: Error, CustomStringConvertible {
    let description: String
  }

  /// - Parameter longestPiece: most bytes of a piece.
  init(longestPiece: Int = 65_536) {
    let (stream, continuation) = AsyncStream<Piece>.makeStream()
    pieces = stream
    queue.async { [wanted] in Self.read(longestPiece, into: continuation, wanted) }
  }

  /// The next piece; `nil` at the end. One caller at a time.
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

/// Lines of standard input without their ends, the last one with or without one. A carriage return before the end goes
/// too.
struct StandardInputLines {
  private let reader = StandardInputReader()
  private var piece = Data()
  /// Where the next line begins in `piece`.
  private var start = 0
  private var isAtEnd = false
  /// No message is longer.
  static let maximumLength = 64 * 1024 * 1024

  /// The next line; `nil` at the end.
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
