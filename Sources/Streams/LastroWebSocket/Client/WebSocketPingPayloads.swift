// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import Lastro

/// The payloads of the pings that a server sends to a ``WebSocket``. A slow reader gets the latest 16. The sequence
/// does not keep the socket open.
package struct WebSocketPingPayloads: AsyncSequence, Sendable {
  /// A payload.
  package typealias Element = Data
  /// The sequence never fails, but ends early in a cancelled task.
  package typealias Failure = Never

  let core: WebSocketCore

  /// An iterator over payloads; it may be used by one task at a time.
  package struct AsyncIterator: AsyncIteratorProtocol {
    let core: WebSocketCore
    var number: UInt64

    /// Returns the next payload; `nil` when the socket has ended.
    package mutating func next() async -> Data? { await next(isolation: nil) }

    /// Returns the next payload; `nil` when the socket has ended.
    package mutating func next(isolation actor: isolated (any Actor)?) async -> Data? {
      let number = number
      let next = await core.shared.wait(for: .news) { state, _ -> (element: Data, number: UInt64)?? in
        if let next = state.receivedPings.element(from: number) { return .some(next) }
        return state.current.isTerminal ? .some(nil) : nil
      }
      guard let (payload, found) = next ?? nil else { return nil }
      self.number = found + 1
      return payload
    }
  }

  /// Creates an iterator that begins with the next ping.
  package func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(core: core, number: core.shared.change { state, _ in state.receivedPings.end })
  }
}
