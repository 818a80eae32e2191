// SPDX-License-Identifier: Apache-2.0

/// The body of an upload: zeros, in chunks of 64 KiB that are all the same memory.
public struct Chunks<Element: Sendable>: AsyncSequence, Sendable {
  private let whole: Element
  private let last: Element?
  private let count: Int

  /// Makes a body.
  ///
  /// - Parameters:
  ///   - size: bytes in all.
  ///   - chunk: makes a chunk of so many zeros, in the client's own type.
  public init(size: Int, _ chunk: (Int) -> Element) {
    let (quotient, remainder) = size.quotientAndRemainder(dividingBy: 1 << 16)
    whole = chunk(1 << 16)
    last = remainder > 0 ? chunk(remainder) : nil
    count = quotient
  }

  /// Gives the chunks.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let whole: Element
    fileprivate var last: Element?
    fileprivate var left: Int

    /// The next chunk.
    public mutating func next() async -> Element? {
      guard left == 0 else {
        left -= 1
        return whole
      }
      defer { last = nil }
      return last
    }
  }

  /// Starts from the beginning.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(whole: whole, last: last, left: count) }
}
