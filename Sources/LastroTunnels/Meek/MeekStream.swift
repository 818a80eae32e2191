// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The stream's face of a ``MeekSession``.
final class MeekStream: ByteStream {
  private let session: MeekSession
  private let time: TimeSource

  let facts = StreamFacts()

  /// - Parameter session: open; this stream's alone.
  init(_ session: MeekSession, time: TimeSource) {
    self.session = session
    self.time = time
  }

  deinit { session.close() }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .refused(.invalidOption, "a read of \(maximum) bytes", hint: "ask for at least one byte")
    }
    try begin(\.isReading)
    defer { session.state.change { $0.isReading = false } }
    while true {
      if let piece = try take(maximum) { return piece }
      try await wait(within: limit) { $0.isClosed || $0.failure != nil || !$0.incoming.isEmpty }
    }
  }

  private func take(_ maximum: Int) throws(TransportError) -> Data? {
    let result: Result<Data?, TransportError> = session.state.change { state in
      if state.isClosed { return .failure(.closedMeek) }
      if !state.incoming.isEmpty {
        let piece = Data(state.incoming.prefix(maximum))
        state.incoming = Data(state.incoming.dropFirst(piece.count))
        return .success(piece)
      }
      if let failure = state.failure { return .failure(failure) }
      return .success(nil)
    }
    return try result.get()
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(\.isWriting)
    defer { session.state.change { $0.isWriting = false } }
    var rest = data[...]
    repeat {
      let taken: Result<Int, TransportError> = session.state.change { state in
        if state.isClosed || state.isFinished { return .failure(.closedMeek) }
        if let failure = state.failure { return .failure(failure) }
        let count = min(rest.count, MeekSession.outgoingBytes - state.outgoing.count)
        state.outgoing.append(rest.prefix(count))
        return .success(count)
      }
      rest = rest.dropFirst(try taken.get())
      guard !rest.isEmpty else { return }
      do throws(TransportError) {
        try await wait(within: limit) {
          $0.isClosed || $0.failure != nil || $0.outgoing.count < MeekSession.outgoingBytes
        }
      } catch {
        // The server gets an unknown part of it, and all of what was written before.
        session.close()
        throw error
      }
    } while true
  }

  /// Waits until the server has all bytes. The protocol has no word for the end itself.
  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try begin(\.isWriting)
    defer { session.state.change { $0.isWriting = false } }
    session.state.change { $0.isFinished = true }
    let isClosed = session.state.read(\.isClosed)
    if !isClosed { try await wait(within: limit) { $0.isClosed || $0.failure != nil || $0.isFlushed } }
    let failure: TransportError? = session.state.read { state in
      if state.isClosed { return .closedMeek }
      return state.isFlushed ? nil : state.failure
    }
    if let failure { throw failure }
  }

  func close() { session.close() }

  private func wait(
    within limit: Duration?, until isMet: @escaping @Sendable (MeekSession.State) -> Bool
  ) async throws(TransportError) {
    switch await session.state.wait(within: limit, time: time, until: isMet) {
    case .success: return
    case .failure(.cancelled): throw .cancelled(requestSent: true)
    case .failure(.limit):
      throw TransportError(stage: .timeout, code: .idleTimeout, message: "nothing moved in time", requestSent: true)
    }
  }

  private func begin(_ flag: WritableKeyPath<MeekSession.State, Bool>) throws(TransportError) {
    let isFree = session.state.change { state in
      defer { state[keyPath: flag] = true }
      return !state[keyPath: flag]
    }
    guard isFree else {
      throw TransportError(
        stage: .request, code: .operationInProgress, message: "somebody else is at it already",
        hint: "one reader and one writer at a time")
    }
  }
}

extension TransportError {
  fileprivate static let closedMeek = TransportError(
    stage: .request, code: .streamClosed, message: "the stream is closed on our side")
}
