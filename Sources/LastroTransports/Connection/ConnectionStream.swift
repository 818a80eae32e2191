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
/// Messages are joined to a stream; every write is a message. The stream ends where content is complete in a context
/// that is final, or in none. Close cancels the connection, and so does dropping the stream.
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

    /// Whether a read need not wait.
    var hasNews: Bool { !bytes.isEmpty || error != nil || hasEnded || isClosed }
  }

  /// What is known about the connection: what was given, or what a ``NetworkConnection`` knows itself.
  package let facts: StreamFacts
  private let connection: any Connection
  let state = Lock(State())

  /// Makes a stream over a connection, which must have been started and must have no other user.
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
        // An empty slice would keep what was read of it, and grow behind that.
        state.bytes = maximum >= state.bytes.count ? Data() : state.bytes.dropFirst(maximum)
        return .success(piece)
      }
      if let error = state.error { return .failure(error.transportError) }
      return state.hasEnded ? .success(nil) : nil
    }
  }

  /// One receive is under way at most; what it brings waits for the next read when this one is given up.
  private func waitForBytes(_ maximum: Int, within limit: Duration?) async throws(TransportError) {
    let arrival = OneAnswer<Void>()
    // Ends the wait that is left behind when this one is given up.
    defer { arrival.give(()) }
    let isFirst: Bool? = state.withLock { state in
      // What an earlier read has left under way may have come since the look before: it would not be told again.
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
    try begin(.writing)
    defer { end(.writing) }
    guard !data.isEmpty else { return }
    try await send(data, .defaultMessage, within: limit)
  }

  /// Ends our direction with a final message; see `ByteStream`.
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
