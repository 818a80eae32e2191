// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroWire

/// A stream that has switched to WebSocket, with the agreement of the handshake.
final class WebSocketStream: ByteStream {
  let agreement: WebSocketHandshake.Agreement
  private let below: any ByteStream

  init(_ below: any ByteStream, _ agreement: WebSocketHandshake.Agreement) {
    self.below = below
    self.agreement = agreement
  }

  deinit { below.close() }

  var facts: StreamFacts { below.facts }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    try await below.read(upTo: maximum, within: limit)
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try await below.write(data, within: limit)
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await below.finishWriting(within: limit)
  }

  func close() { below.close() }
}
