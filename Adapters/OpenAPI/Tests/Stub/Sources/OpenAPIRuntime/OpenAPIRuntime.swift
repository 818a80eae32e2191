// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import HTTPTypes

/// As swift-openapi-runtime 1.9 declares it.
public protocol ClientTransport: Sendable {
  func send(
    _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPResponse, HTTPBody?)
}

/// How often a body can be iterated.
public enum IterationBehavior: Sendable { case single, multiple }

/// A body, in chunks.
public final class HTTPBody: AsyncSequence, Sendable {
  /// A chunk.
  public typealias ByteChunk = ArraySlice<UInt8>
  /// A chunk.
  public typealias Element = ByteChunk

  /// A length that is known or not.
  public enum Length: Sendable, Equatable {
    case unknown
    case known(Int64)
  }

  /// The length.
  public let length: Length
  /// How often it can be iterated.
  public let iterationBehavior: IterationBehavior
  private let make: @Sendable () -> Iterator

  /// Reads the chunks.
  public struct Iterator: AsyncIteratorProtocol {
    let produce: () async throws -> ByteChunk?

    /// The next chunk; `nil` at the end.
    ///
    /// - Throws: what the sequence throws.
    public mutating func next() async throws -> ByteChunk? { try await produce() }
  }

  /// Makes a body of chunks.
  public init<Input: AsyncSequence & Sendable>(
    _ sequence: Input, length: Length, iterationBehavior: IterationBehavior
  ) where Input.Element == ByteChunk {
    self.length = length
    self.iterationBehavior = iterationBehavior
    make = {
      var iterator = sequence.makeAsyncIterator()
      return Iterator { try await iterator.next() }
    }
  }

  /// Makes the iterator.
  public func makeAsyncIterator() -> Iterator { make() }
}
