// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// A stream that has switched to WebSocket, with the agreement of the handshake.
final class WebSocketStream: ByteStream {
  let agreement: WebSocketHandshake.Agreement
  private let below: any ByteStream
  private let origin: LinkOrigin?

  /// - Parameter origin: the dial of the stream; `nil` if it is not known.
  init(_ below: any ByteStream, _ agreement: WebSocketHandshake.Agreement, from origin: LinkOrigin?) {
    self.below = below
    self.agreement = agreement
    self.origin = origin
  }

  /// Whether trust rules and client certificate are still those that the stream was dialed with. The check may block
  /// for a second.
  var isCurrent: Bool { origin?.isCurrent ?? true }

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
