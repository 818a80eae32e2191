// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport

/// A `ByteStream` over any ``Connection``, so that WebSocket, Gemini and TLS can run over transports.
///
/// Messages are concatenated into a stream, and every write becomes a message. The stream ends when content is complete
/// in a final context or without a context. Closing or dropping the stream cancels the connection.
package final class ConnectionStream: ByteStream {
  struct State {
    var bytes = Data()
    var error: ConnectionError?
    var hasEnded = false
    var isClosed = false
    var turns = Turns()
    var isFinished = false
    var isReceiving = false
    var waiter: OneAnswer<Void>?

    /// Whether a read can complete without waiting.
    var hasNews: Bool { !bytes.isEmpty || error != nil || hasEnded || isClosed }
  }

  /// The facts about the connection: the given ones, or those of a ``NetworkConnection``.
  package let facts: StreamFacts
  private let connection: any Connection
  let state = Lock(State())

  /// Creates a stream over a connection, which must have been started and must have no other user.
  ///
  /// - Parameters:
  ///   - connection: the connection that carries the bytes.
  ///   - facts: the facts to report. Default: those of a ``NetworkConnection``, else none.
  package init(over connection: any Connection, facts: StreamFacts? = nil) {
    self.connection = connection
    self.facts = facts ?? (connection as? NetworkConnection)?.facts ?? StreamFacts()
  }

  deinit { connection.cancel() }

  /// Returns the next bytes; see `ByteStream`.
  package func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .emptyRead(maximum)
    }
    try begin(.reading)
    defer { end(.reading) }
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
        // An empty slice would keep the storage of the bytes already read, and grow behind them.
        state.bytes = maximum >= state.bytes.count ? Data() : state.bytes.dropFirst(maximum)
        return .success(piece)
      }
      if let error = state.error { return .failure(error.transportError) }
      return state.hasEnded ? .success(nil) : nil
    }
  }

  /// Waits for bytes. At most one receive is in flight; if this read is abandoned, its content is kept for the next
  /// read.
  private func waitForBytes(_ maximum: Int, within limit: Duration?) async throws(TransportError) {
    let arrival = OneAnswer<Void>()
    // Ends the inner wait if this read is abandoned.
    defer { arrival.give(()) }
    let isFirst: Bool? = state.withLock { state in
      // The receive of an abandoned read may have completed since the last check, and would not be reported again.
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
    let outcome = await interruptible(within: limit, time: .continuous) { await arrival.value() }
    try outcome.mapError { TransportError.interrupted($0, "no byte came", within: limit) }.get()
  }

  private func received(
    _ data: Data?, _ context: ConnectionContentContext?, _ isComplete: Bool, _ error: ConnectionError?
  ) {
    let waiter = state.withLock { state in
      state.isReceiving = false
      if let data { state.bytes.append(data) }
      if let error { state.error = error }
      // Some transports signal the end with a completion without data and metadata.
      let isBare = data == nil && context?.protocolMetadata.isEmpty ?? true
      if isComplete, context?.isFinal ?? true || isBare { state.hasEnded = true }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.give(())
  }

  /// Writes all bytes, as one message; see `ByteStream`.
  package func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    guard !data.isEmpty else { return }
    try await send(data, .defaultMessage, within: limit)
  }

  /// Ends the outgoing direction with a final message; see `ByteStream`.
  package func finishWriting(within limit: Duration?) async throws(TransportError) {
    let isFinished = state.withLock { $0.isFinished && !$0.isClosed }
    guard !isFinished else { return }
    try begin(.writing)
    defer { end(.writing) }
    state.withLock { $0.isFinished = true }
    try await send(nil, .finalMessage, within: limit)
  }

  private func send(
    _ data: Data?, _ context: ConnectionContentContext, within limit: Duration?
  ) async throws(TransportError) {
    let sent = OneAnswer<ConnectionError?>()
    connection.send(
      content: data, contentContext: context, isComplete: true, completion: .contentProcessed { sent.give($0) })
    let outcome = await interruptible(within: limit, time: .continuous) { await sent.value() }
    if case .failure = outcome { close() }
    let error = try outcome.mapError {
      TransportError.interrupted($0, "not all bytes were taken", within: limit)
    }.get()
    if let error { throw error.transportError }
  }

  private func begin(_ turn: Turns) throws(TransportError) {
    try state.withLock { state throws(TransportError) in
      if state.isClosed || turn == .writing && state.isFinished { throw .streamClosed }
      try state.turns.begin(turn)
    }
  }

  private func end(_ turn: Turns) { state.withLock { _ = $0.turns.remove(turn) } }

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
