// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The elements that a ``WebSocket`` records, up to its end: its states, or the payloads of received pings. The
/// sequence does not keep the socket open.
struct WebSocketNews<Element: Sendable>: AsyncSequence, Sendable {
  /// The sequence never fails, but ends early in a cancelled task.
  typealias Failure = Never

  let core: WebSocketCore
  /// The number of recorded elements that an iterator begins with.
  let backlog: UInt64
  let elements: @Sendable (inout SharedWebSocketState) -> RecentElements<Element>

  /// An iterator over elements; it may be used by one task at a time.
  struct AsyncIterator: AsyncIteratorProtocol {
    let news: WebSocketNews
    var number: UInt64

    mutating func next() async -> Element? { await next(isolation: nil) }

    /// Returns the next element; `nil` when the socket has ended.
    mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      let (news, number) = (news, number)
      let next = await news.core.wait(for: .news) { state, _ -> (element: Element, number: UInt64)?? in
        if let next = news.elements(&state).element(from: number) { return .some(next) }
        return state.current.isTerminal ? .some(nil) : nil
      }
      guard let (element, found) = next ?? nil else { return nil }
      self.number = found + 1
      return element
    }
  }

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(news: self, number: core.change { state, _ in elements(&state).end - backlog })
  }
}
