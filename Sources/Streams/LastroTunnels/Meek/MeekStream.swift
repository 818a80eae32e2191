// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
import LastroSupport

/// The stream interface of a ``MeekSession``.
final class MeekStream: ByteStream {
  private let session: MeekSession
  private let time: TimeSource

  let facts = StreamFacts()

  /// - Parameter session: an open session, used only by this stream.
  init(_ session: MeekSession, time: TimeSource) {
    self.session = session
    self.time = time
  }

  deinit { session.close() }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .emptyRead(maximum)
    }
    try begin(.reading)
    defer { end(.reading) }
    while true {
      if let piece = try takeReceived(upTo: maximum) { return piece }
      try await wait(within: limit) { $0.isClosed || $0.failure != nil || !$0.incoming.isEmpty }
    }
  }

  private func takeReceived(upTo maximum: Int) throws(TransportError) -> Data? {
    let result: Result<Data?, TransportError> = session.state.change { state in
      if state.isClosed { return .failure(.streamClosed) }
      if !state.incoming.isEmpty {
        let piece = Data(state.incoming.prefix(maximum))
        state.incoming = state.incoming.dropFirst(piece.count)
        // A growing slice keeps the bytes already read. Copy the slice when more bytes were read than are left, so that
        // copying stays cheap.
        if state.incoming.startIndex >= state.incoming.count { state.incoming = Data(state.incoming) }
        return .success(piece)
      }
      if let failure = state.failure { return .failure(failure) }
      return .success(nil)
    }
    return try result.get()
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    let countdown = Countdown(limit, now: time.now)
    var rest = data[...]
    repeat {
      let taken: Result<Int, TransportError> = session.state.change { state in
        if state.isClosed || state.isFinished { return .failure(.streamClosed) }
        if let failure = state.failure { return .failure(failure) }
        let count = min(rest.count, MeekSession.outgoingBytes - state.outgoing.count)
        state.outgoing.append(rest.prefix(count))
        return .success(count)
      }
      rest = rest.dropFirst(try taken.get())
      guard !rest.isEmpty else { return }
      do throws(TransportError) {
        try await wait(within: countdown.left) {
          $0.isClosed || $0.failure != nil || $0.outgoing.count < MeekSession.outgoingBytes
        }
      } catch {
        // The server gets an unknown part of these bytes, and all those written before.
        session.close()
        throw error
      }
    } while true
  }

  /// Waits until the server has all bytes. The protocol cannot signal the end itself.
  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    session.state.change { $0.isFinished = true }
    let isClosed = session.state.read(\.isClosed)
    if !isClosed { try await wait(within: limit) { $0.isClosed || $0.failure != nil || $0.isFlushed } }
    let failure: TransportError? = session.state.read { state in
      if state.isClosed { return .streamClosed }
      return state.isFlushed ? nil : state.failure
    }
    if let failure { throw failure }
  }

  func close() { session.close() }

  private func wait(
    within limit: Duration?, until isMet: @escaping @Sendable (MeekSession.State) -> Bool
  ) async throws(TransportError) {
    let outcome = await session.state.wait(within: limit, time: time, until: isMet)
    try outcome.mapError { TransportError.interrupted($0, within: limit) }.get()
  }

  private func begin(_ turn: Turns) throws(TransportError) {
    try session.state.change { state throws(TransportError) in try state.turns.begin(turn) }
  }

  private func end(_ turn: Turns) { session.state.change { _ = $0.turns.remove(turn) } }
}
