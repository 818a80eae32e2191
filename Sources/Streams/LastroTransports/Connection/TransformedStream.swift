// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport

/// A stream whose bytes a ``StreamTransform`` changes in both directions. It is meant for custom dialers;
/// ``NetworkConnectionFactory`` builds whole transports from it.
package final class TransformedStream: ByteStream {
  private struct State {
    var bytes = Data()
    var hasEnded = false
    /// The error that ended reading, which every later read throws again.
    var error: TransportError?
    var isClosed = false
    var turns = Turns()
  }

  private let base: any ByteStream
  private let state = Lock(State())
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
      if let step = taken(upTo: maximum) { return try step.get() }
      try takeIn(try await base.read(upTo: 65_536, within: limit))
    }
  }

  private func taken(upTo maximum: Int) -> Result<Data?, TransportError>? {
    state.withLock { state in
      if state.isClosed { return .failure(.streamClosed) }
      if !state.bytes.isEmpty {
        defer { state.bytes = state.bytes.dropFirst(maximum) }
        return .success(Data(state.bytes.prefix(maximum)))
      }
      if let error = state.error { return .failure(error) }
      return state.hasEnded ? .success(nil) : nil
    }
  }

  private func takeIn(_ read: Data?) throws(TransportError) {
    if read == nil { state.withLock { $0.hasEnded = true } }
    let bytes = try transformed { transform in try read.map { try transform.incoming($0) } ?? transform.ending() }
    state.withLock { state in
      if !state.isClosed { state.bytes = bytes }
    }
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
    state.withLock { state in
      state.isClosed = true
      state.bytes = Data()
    }
    base.close()
  }

  private func transformed(_ body: (inout any StreamTransform) throws -> Data) throws(TransportError) -> Data {
    do {
      return try transform.withLock { try body(&$0) }
    } catch {
      let failure = error as? TransportError ?? .unreadableWire(error)
      state.withLock { $0.error = failure }
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
