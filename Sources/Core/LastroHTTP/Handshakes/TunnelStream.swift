// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport

/// A stream after a handshake. It returns the bytes that were read beyond the handshake first, and then the rest.
package final class TunnelStream: LoopStream {
  package let facts: StreamFacts
  package var runsOnLoops: Bool { (below as? any LoopStream)?.runsOnLoops == true }
  private let below: any ByteStream
  private let early: Lock<Data>

  /// - Parameters:
  ///   - below: the stream below, which only this stream reads and writes from now on.
  ///   - early: the bytes that were read beyond the handshake. Default none.
  ///   - isSameHost: whether the stream leads to the same host, which uses another protocol from now on. Default false.
  package init(_ below: any ByteStream, early: Data = Data(), isSameHost: Bool = false) {
    self.below = below
    let ends = below.facts
    // The TLS facts are left out: the security of the connection to a proxy says nothing about the host behind it.
    let plain = StreamFacts(remoteAddress: ends.remoteAddress, remotePort: ends.remotePort, localPort: ends.localPort)
    facts = isSameHost ? ends : plain
    self.early = Lock(early)
  }

  deinit { below.close() }

  package func hasEnded(on loop: AnyObject?) -> Bool {
    early.withLock { $0.isEmpty } && below.isKnownToHaveEnded(on: loop)
  }

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
    early.withLock { $0 = Data() }
    below.close()
  }

  private func takeEarly(_ maximum: Int) -> Data? {
    early.withLock { early in
      guard !early.isEmpty else { return nil }
      let piece = Data(early.prefix(maximum))
      early = Data(early.dropFirst(piece.count))
      return piece
    }
  }
}
