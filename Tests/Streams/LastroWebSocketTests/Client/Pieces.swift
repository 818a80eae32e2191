// SPDX-License-Identifier: Apache-2.0

/// The pieces of a message, each made when it is asked for.
struct Pieces<Piece: Sendable>: AsyncSequence, AsyncIteratorProtocol, Sendable {
  typealias Element = Piece

  /// Returns the piece with a number, from 0; `nil` at the end.
  let make: @Sendable (Int) async throws -> Piece?
  private var number = 0

  init(_ make: @escaping @Sendable (Int) async throws -> Piece?) { self.make = make }

  func makeAsyncIterator() -> Self { self }

  mutating func next() async throws -> Piece? {
    defer { number += 1 }
    return try await make(number)
  }
}
