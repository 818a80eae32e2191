// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A `ByteStream` over any ``Connection``: so WebSocket, Gemini and TLS run over transports.
///
/// Messages are joined to a stream; every write is a message. The stream ends where content is complete in a context that is final,
/// or in none. Close cancels the connection, and so does dropping the stream.
package final class ConnectionStream: ByteStream {
  private struct State {
    var bytes = Data()
    var error: ConnectionError?
    var hasEnded = false
    var isClosed = false
    var isReading = false
    var isWriting = false
    var isFinished = false
    var isReceiving = false
    var waiter: OneAnswer<Void>?

    /// Whether a read need not wait.
    var hasNews: Bool { !bytes.isEmpty || error != nil || hasEnded || isClosed }
  }

  /// What is known about the connection: what was given, or what a ``NetworkConnection`` knows itself.
  package let facts: StreamFacts
  private let connection: any Connection
  private let state = Lock(State())

  /// Makes a stream over a connection, which must have been started and which nobody else may use.
  ///
  /// - Parameters:
  ///   - connection: what carries the bytes.
  ///   - facts: default: those of a ``NetworkConnection``, else none.
  package init(over connection: any Connection, facts: StreamFacts? = nil) {
    self.connection = connection
    self.facts = facts ?? (connection as? NetworkConnection)?.facts ?? StreamFacts()
  }

  deinit { connection.cancel() }

  /// The next bytes; see `ByteStream`.
  package func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .refused(.invalidOption, "a read of \(maximum) bytes", hint: "ask for at least one byte")
    }
    try begin(\.isReading)
    defer { state.withLock { $0.isReading = false } }
    while true {
      if Task.isCancelled { throw .cancelled(requestSent: true) }
      if let step = taken(upTo: maximum) { return try step.get() }
      try await waitForBytes(maximum, within: limit)
    }
  }

  private func taken(upTo maximum: Int) -> Result<Data?, TransportError>? {
    state.withLock { state in
      if state.isClosed { return .failure(.streamClosed) }
      if !state.bytes.isEmpty {
        let piece = Data(state.bytes.prefix(maximum))
        state.bytes = Data(state.bytes.dropFirst(maximum))
        return .success(piece)
      }
      if let error = state.error { return .failure(error.transportError) }
      return state.hasEnded ? .success(nil) : nil
    }
  }

  /// One receive is under way at most; what it brings waits for the next read when this one is given up.
  private func waitForBytes(_ maximum: Int, within limit: Duration?) async throws(TransportError) {
    let arrival = OneAnswer<Void>()
    // Whoever still waits for it, behind a wait that was given up, is let go.
    defer { arrival.give(()) }
    let isFirst: Bool? = state.withLock { state in
      // What an earlier read has left under way may have come since the look before: nobody would tell of it again.
      guard !state.hasNews else { return nil }
      state.waiter = arrival
      defer { state.isReceiving = true }
      return !state.isReceiving
    }
    guard let isFirst else { return }
    if isFirst {
      connection.receive(minimumIncompleteLength: 1, maxLength: maximum) { [weak self] data, context, complete, error in
        self?.received(data, context, complete, error)
      }
    }
    switch await interruptible(within: limit, time: .continuous, { await arrival.value() }) {
    case .success: return
    case .failure(.cancelled): throw .cancelled(requestSent: true)
    case .failure(.limit):
      throw TransportError(stage: .timeout, code: .idleTimeout, message: "nothing came in time", requestSent: true)
    }
  }

  private func received(
    _ data: Data?, _ context: ConnectionContentContext?, _ isComplete: Bool, _ error: ConnectionError?
  ) {
    let waiter = state.withLock { state in
      state.isReceiving = false
      if let data { state.bytes.append(data) }
      if let error { state.error = error }
      // Nothing at all in no context of note: some transports tell the end so.
      let isBare = data == nil && context?.protocolMetadata.isEmpty ?? true
      if isComplete, context?.isFinal ?? true || isBare { state.hasEnded = true }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.give(())
  }

  /// Writes all bytes, as one message; see `ByteStream`.
  package func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(\.isWriting)
    defer { state.withLock { $0.isWriting = false } }
    guard !data.isEmpty else { return }
    try await send(data, .defaultMessage, within: limit)
  }

  /// Ends our direction with a final message; see `ByteStream`.
  package func finishWriting(within limit: Duration?) async throws(TransportError) {
    let isFinished = state.withLock { $0.isFinished && !$0.isClosed }
    guard !isFinished else { return }
    try begin(\.isWriting)
    defer { state.withLock { $0.isWriting = false } }
    state.withLock { $0.isFinished = true }
    try await send(nil, .finalMessage, within: limit)
  }

  private func send(
    _ data: Data?, _ context: ConnectionContentContext, within limit: Duration?
  ) async throws(TransportError) {
    let sent = OneAnswer<ConnectionError?>()
    connection.send(
      content: data, contentContext: context, isComplete: true, completion: .contentProcessed { sent.give($0) })
    switch await interruptible(within: limit, time: .continuous, { await sent.value() }) {
    case .success(nil): return
    case .success(let error?): throw error.transportError
    case .failure(let interruption):
      close()
      guard interruption == .limit else { throw .cancelled(requestSent: true) }
      throw TransportError(
        stage: .timeout, code: .idleTimeout, message: "the peer did not take it in time", requestSent: true)
    }
  }

  private func begin(_ busy: WritableKeyPath<State, Bool>) throws(TransportError) {
    let refusal: TransportError? = state.withLock { state in
      if state.isClosed || busy == \.isWriting && state.isFinished { return .streamClosed }
      if state[keyPath: busy] { return .operationInProgress }
      state[keyPath: busy] = true
      return nil
    }
    if let refusal { throw refusal }
  }

  /// Cancels the connection.
  package func close() {
    let waiter = state.withLock { state in
      state.isClosed = true
      state.bytes = Data()
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.give(())
    connection.cancel()
  }
}

extension TransportError {
  static var streamClosed: Self {
    Self(stage: .request, code: .streamClosed, message: "the stream is closed on our side")
  }
  static var operationInProgress: Self {
    Self(
      stage: .request, code: .operationInProgress, message: "somebody else is at it already",
      hint: "one reader and one writer at a time")
  }
}
