// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A stream whose bytes a ``StreamTransform`` changes in both directions. For dialers of one's own; ``TransformingConnectionFactory`` makes whole
/// transports out of it.
package final class TransformedStream: ByteStream {
  private struct State {
    var transform: any StreamTransform
    var bytes = Data()
    var hasEnded = false
    /// Why nothing more can be read: told again by every read.
    var error: TransportError?
    var isClosed = false
    var isReading = false
    var isWriting = false
  }

  private let base: any ByteStream
  private let state: Lock<State>

  /// Puts a transform around a stream.
  package init(_ base: any ByteStream, _ transform: any StreamTransform) {
    self.base = base
    state = Lock(State(transform: transform))
  }

  /// Those of the stream below.
  package var facts: StreamFacts { base.facts }

  /// Sends what the transform begins with.
  func open(within limit: Duration?) async throws(TransportError) {
    let bytes = try transformed { try $0.transform.opening() }
    if !bytes.isEmpty { try await base.write(bytes, within: limit) }
  }

  /// The next bytes; see `ByteStream`.
  package func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .refused(.invalidOption, "a read of \(maximum) bytes", hint: "ask for at least one byte")
    }
    try begin(\.isReading)
    defer { state.withLock { $0.isReading = false } }
    while true {
      if let step = taken(upTo: maximum) { return try step.get() }
      try takeIn(try await base.read(upTo: 65_536, within: limit))
    }
  }

  private func taken(upTo maximum: Int) -> Result<Data?, TransportError>? {
    state.withLock { state in
      if state.isClosed { return .failure(.streamClosed) }
      if !state.bytes.isEmpty {
        defer { state.bytes = Data(state.bytes.dropFirst(maximum)) }
        return .success(Data(state.bytes.prefix(maximum)))
      }
      if let error = state.error { return .failure(error) }
      return state.hasEnded ? .success(nil) : nil
    }
  }

  private func takeIn(_ read: Data?) throws(TransportError) {
    do throws(TransportError) {
      _ = try transformed { state in
        state.hasEnded = read == nil
        let bytes = try read.map { try state.transform.incoming($0) } ?? state.transform.ending()
        if !state.isClosed { state.bytes = bytes }
        return bytes
      }
    } catch {
      state.withLock { $0.error = error }
      throw error
    }
  }

  /// Writes all bytes; see `ByteStream`.
  package func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(\.isWriting)
    defer { state.withLock { $0.isWriting = false } }
    guard !data.isEmpty else { return }
    let bytes = try transformed { try $0.transform.outgoing(data) }
    try await base.write(bytes, within: limit)
  }

  /// Ends our direction; see `ByteStream`.
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

  private func transformed(_ body: (inout State) throws -> Data) throws(TransportError) -> Data {
    do {
      return try state.withLock { try body(&$0) }
    } catch {
      base.close()
      if let error = error as? TransportError { throw error }
      throw TransportError(
        stage: .response, code: .protocolViolation, message: "the transport could not read the wire: \(error)",
        requestSent: true)
    }
  }

  private func begin(_ busy: WritableKeyPath<State, Bool>) throws(TransportError) {
    let isFree = state.withLock { state in
      defer { state[keyPath: busy] = true }
      return !state[keyPath: busy]
    }
    guard isFree else { throw .operationInProgress }
  }
}
