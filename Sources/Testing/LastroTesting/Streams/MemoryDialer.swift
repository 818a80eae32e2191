// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro

/// A `Dialer` whose streams lead to a handler in this process.
public struct MemoryDialer: Dialer {
  private let shape: MemoryStream.Shape
  private let facts: StreamFacts
  private let accept: @Sendable (DialRequest, MemoryStream) async throws -> Void

  /// Creates a dialer.
  ///
  /// - Parameters:
  ///   - longestRead: the maximum number of bytes that a read returns. Default: no limit.
  ///   - capacity: the number of unread bytes above which writes wait. Default 1 MiB.
  ///   - facts: the facts of each stream.
  ///   - accept: serves the far end of each stream in its own task; the end is closed when it returns.
  public init(
    longestRead: Int = .max, capacity: Int = 1 << 20, facts: StreamFacts = StreamFacts(),
    accept: @escaping @Sendable (DialRequest, MemoryStream) async throws -> Void
  ) {
    self.init(
      shape: MemoryStream.Shape(longestRead: longestRead, capacity: capacity), facts: facts, accept: accept)
  }

  /// - Parameter shape: the behavior of the streams.
  package init(
    shape: MemoryStream.Shape, facts: StreamFacts = StreamFacts(),
    accept: @escaping @Sendable (DialRequest, MemoryStream) async throws -> Void
  ) {
    self.shape = shape
    self.facts = facts
    self.accept = accept
  }

  /// Opens a stream to the handler.
  ///
  /// - Throws: never: an error of the handler ends the stream instead.
  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let (near, far) = MemoryStream.pair(shape, facts: facts)
    Task { [accept] in
      try? await accept(request, far)
      far.close()
    }
    return near
  }
}
