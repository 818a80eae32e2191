// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport

/// A stream after a handshake. It returns the bytes that were read beyond the handshake first, and then the rest.
package final class TunnelStream: LoopStream {
  private struct State {
    var early: Data
    var isClosed = false
  }

  package let facts: StreamFacts
  package var runsOnLoops: Bool { (below as? any LoopStream)?.runsOnLoops == true }
  private let below: any ByteStream
  private let state: Lock<State>

  /// - Parameters:
  ///   - below: the stream below, which only this stream reads and writes from now on.
  ///   - early: the bytes that were read beyond the handshake.
  package init(_ below: any ByteStream, early: Data = Data()) {
    self.below = below
    // The TLS facts are left out: the security of the connection to a proxy says nothing about the host behind it.
    facts = StreamFacts(
      remoteAddress: below.facts.remoteAddress, remotePort: below.facts.remotePort, localPort: below.facts.localPort)
    state = Lock(State(early: early))
  }

  /// Creates a stream to the same host, which uses another protocol from now on.
  init(upgraded below: any ByteStream, early: Data) {
    self.below = below
    facts = below.facts
    state = Lock(State(early: early))
  }

  deinit { below.close() }

  package func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    if maximum > 0, let early = takeEarly(maximum) { return early }
    return try await below.read(upTo: maximum, within: limit)
  }

  package func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try await below.write(data, within: limit)
  }

  package func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await below.finishWriting(within: limit)
  }

  package func close() {
    state.withLock { state in
      state.early = Data()
      state.isClosed = true
    }
    below.close()
  }

  private func takeEarly(_ maximum: Int) -> Data? {
    state.withLock { state in
      guard !state.early.isEmpty, !state.isClosed else { return nil }
      let piece = Data(state.early.prefix(maximum))
      state.early = Data(state.early.dropFirst(piece.count))
      return piece
    }
  }
}
