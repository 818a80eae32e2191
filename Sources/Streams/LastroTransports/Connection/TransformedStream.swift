// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport
internal import LastroTunnels

/// A stream whose bytes a ``StreamTransform`` changes in both directions. It is meant for custom dialers;
/// ``NetworkConnectionFactory`` builds whole transports from it.
package final class TransformedStream: ByteStream {
  private let base: any ByteStream
  private let state = Lock(FramedState())
  /// A lock held only while the application's transform runs, so that a transform can use its stream, which takes the
  /// other lock.
  private let transform: Lock<any StreamTransform>

  /// Wraps a stream in a transform.
  package init(_ base: any ByteStream, _ transform: any StreamTransform) {
    self.base = base
    self.transform = Lock(transform)
  }

  /// The facts of the stream below.
  package var facts: StreamFacts { base.facts }

  /// Sends the opening bytes of the transform.
  func open(within limit: Duration?) async throws(TransportError) {
    let bytes = try transformed { try $0.opening() }
    if !bytes.isEmpty { try await base.write(bytes, within: limit) }
  }

  /// Returns the next bytes; see `ByteStream`.
  package func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .emptyRead(maximum)
    }
    try begin(.reading)
    defer { end(.reading) }
    while true {
      if let step = state.withLock({ $0.taken(upTo: maximum) }) { return try step.get() }
      try takeIn(try await base.read(upTo: 65_536, within: limit))
    }
  }

  private func takeIn(_ read: Data?) throws(TransportError) {
    if read == nil { state.withLock { $0.hasEnded = true } }
    let bytes = try transformed { transform in try read.map { try transform.incoming($0) } ?? transform.ending() }
    state.withLock { $0.takeIn(bytes) }
  }

  /// Writes all bytes; see `ByteStream`.
  package func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    guard !data.isEmpty else { return }
    let bytes = try transformed { try $0.outgoing(data) }
    try await base.write(bytes, within: limit)
  }

  /// Ends the outgoing direction; see `ByteStream`.
  package func finishWriting(within limit: Duration?) async throws(TransportError) {
    try await base.finishWriting(within: limit)
  }

  /// Closes the stream below.
  package func close() {
    state.withLock { $0.close() }
    base.close()
  }

  private func transformed(_ body: (inout any StreamTransform) throws -> Data) throws(TransportError) -> Data {
    do {
      return try transform.withLock { try body(&$0) }
    } catch {
      let failure = error as? TransportError ?? .unreadableWire(error)
      state.withLock { $0.failure = failure }
      base.close()
      throw failure
    }
  }

  private func begin(_ turn: Turns) throws(TransportError) {
    try state.withLock { state throws(TransportError) in try state.turns.begin(turn) }
  }

  private func end(_ turn: Turns) { state.withLock { _ = $0.turns.remove(turn) } }
}

extension TransportError {
  static func unreadableWire(_ error: any Error) -> Self {
    Self(
      stage: .response, code: .protocolViolation,
      message: "the transport could not decode the received bytes: \(error)",
      hint: "check that both ends are configured alike", requestSent: true)
  }
}
