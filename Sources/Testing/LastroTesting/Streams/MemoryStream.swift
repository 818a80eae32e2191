// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// An end of a stream in memory: bytes written to one end are read from the other.
///
/// A pair may limit the bytes of a read, and the unread bytes above which writes wait.
public final class MemoryStream: ByteStream {
  /// The behavior of a stream.
  package struct Shape: Sendable {
    /// The maximum number of bytes that a read returns; 1 returns one byte at a time. Default: no limit.
    package var longestRead: Int
    /// The number of unread bytes above which writes wait. Default 1 MiB.
    package var capacity: Int

    /// Creates a shape.
    package init(longestRead: Int = .max, capacity: Int = 1 << 20) {
      self.longestRead = max(1, longestRead)
      self.capacity = max(1, capacity)
    }
  }

  /// The facts given when the pair was created.
  public let facts: StreamFacts
  private let incoming: MemoryPipe
  private let outgoing: MemoryPipe

  private init(incoming: MemoryPipe, outgoing: MemoryPipe, facts: StreamFacts) {
    self.incoming = incoming
    self.outgoing = outgoing
    self.facts = facts
  }

  deinit { close() }

  /// Returns two connected ends.
  ///
  /// - Parameters:
  ///   - longestRead: the maximum number of bytes that a read returns, regardless of the writes; 1 returns one byte at
  ///     a time. Default: no limit.
  ///   - capacity: the number of unread bytes above which writes wait. Default 1 MiB.
  ///   - facts: the facts of both ends.
  public static func pair(
    longestRead: Int = .max, capacity: Int = 1 << 20, facts: StreamFacts = StreamFacts()
  ) -> (MemoryStream, MemoryStream) {
    pair(Shape(longestRead: longestRead, capacity: capacity), facts: facts)
  }

  /// Returns two connected ends.
  package static func pair(_ shape: Shape, facts: StreamFacts = StreamFacts()) -> (MemoryStream, MemoryStream) {
    let one = MemoryPipe(shape), other = MemoryPipe(shape)
    return (
      MemoryStream(incoming: one, outgoing: other, facts: facts),
      MemoryStream(incoming: other, outgoing: one, facts: facts)
    )
  }

  /// Returns the next bytes; see `ByteStream`.
  ///
  /// - Throws: `TransportError`, as documented for `ByteStream`.
  public func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .emptyRead(maximum)
    }
    return try await incoming.read(upTo: maximum, within: limit)
  }

  /// Writes all bytes; see `ByteStream`.
  ///
  /// - Throws: `TransportError`, as documented for `ByteStream`.
  public func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    do {
      try await outgoing.write(data, within: limit)
    } catch {
      if error.code == .idleTimeout || error.code == .cancelled { close() }
      throw error
    }
  }

  /// Ends the outgoing direction; the other end reads a clean end.
  ///
  /// - Throws: `TransportError`: code `operation_in_progress` during a write, `stream_closed` after ``close()``.
  public func finishWriting(within limit: Duration?) async throws(TransportError) { try outgoing.finishWriting() }

  /// Closes both directions.
  public func close() {
    outgoing.end(.clean)
    outgoing.closeWriter()
    incoming.closeReader()
  }

  /// Ends the outgoing direction as if the connection were cut: the other end reads code `truncated_stream`.
  package func truncate() { outgoing.end(.truncated) }
}

extension MemoryStream: LoopStream {
  package var runsOnLoops: Bool { true }
}
