// SPDX-License-Identifier: Apache-2.0

/// The body of an upload: zeros in chunks of 64 KiB, which all share the same memory.
public struct Chunks<Element: Sendable>: AsyncSequence, Sendable {
  private let whole: Element
  private let last: Element?
  private let count: Int

  /// Makes a body.
  ///
  /// - Parameters:
  ///   - size: the total number of bytes.
  ///   - chunk: returns a chunk with the given number of zeros, in the client's type.
  public init(size: Int, _ chunk: (Int) -> Element) {
    let (quotient, remainder) = size.quotientAndRemainder(dividingBy: 1 << 16)
    whole = chunk(1 << 16)
    last = remainder > 0 ? chunk(remainder) : nil
    count = quotient
  }

  /// An iterator over the chunks.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let whole: Element
    fileprivate var last: Element?
    fileprivate var left: Int

    /// Returns the next chunk; `nil` at the end.
    public mutating func next() async -> Element? {
      guard left == 0 else {
        left -= 1
        return whole
      }
      defer { last = nil }
      return last
    }
  }

  /// Returns an iterator that starts from the beginning.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(whole: whole, last: last, left: count) }
}
