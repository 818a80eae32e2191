// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One direction of a ``MemoryStream``.
final class MemoryPipe: Sendable {
  enum End {
    case clean
    case truncated
  }

  private struct State {
    var bytes = Data()
    var end: End?
    var readerClosed = false
    var writerClosed = false
    var reading = false
    var writing = false
  }

  private let shape: MemoryStream.Shape
  private let state = Watched(State())

  init(_ shape: MemoryStream.Shape) { self.shape = shape }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    try begin(\.reading)
    let start = ContinuousClock.now
    defer { state.change { $0.reading = false } }
    while true {
      let step: Result<Data?, TransportError>? = state.change { state in
        if state.readerClosed { return .failure(.closedStream) }
        if !state.bytes.isEmpty {
          let count = min(maximum, shape.longestRead, state.bytes.count)
          let piece = Data(state.bytes.prefix(count))
          state.bytes = Data(state.bytes.dropFirst(count))
          return .success(piece)
        }
        switch state.end {
        case .clean: return .success(nil)
        case .truncated: return .failure(.truncated)
        case nil: return nil
        }
      }
      if let step { return try step.get() }
      try await wait(within: limit.left(since: start)) { $0.readerClosed || !$0.bytes.isEmpty || $0.end != nil }
    }
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(\.writing)
    defer { state.change { $0.writing = false } }
    let start = ContinuousClock.now
    var rest = data[...]
    while !rest.isEmpty {
      let taken: Result<Int, TransportError> = state.change { state in
        if state.writerClosed || state.end != nil { return .failure(.closedStream) }
        if state.readerClosed {
          return .failure(
            TransportError(stage: .send, code: .sendFailed, message: "the other end is closed", requestSent: true))
        }
        let count = min(rest.count, shape.capacity - state.bytes.count)
        state.bytes.append(rest.prefix(count))
        return .success(count)
      }
      rest = rest.dropFirst(try taken.get())
      if rest.isEmpty { return }
      try await wait(within: limit.left(since: start)) { [capacity = shape.capacity] in
        $0.writerClosed || $0.readerClosed || $0.end != nil || $0.bytes.count < capacity
      }
    }
  }

  /// Ends the direction as a writer does: not beside a write, and not after the end of the stream.
  func finish() throws(TransportError) {
    try begin(\.writing)
    defer { state.change { $0.writing = false } }
    let isClosed = state.change { state in
      if state.end == nil { state.end = .clean }
      return state.writerClosed
    }
    if isClosed { throw .closedStream }
  }

  func end(_ end: End) {
    state.change { state in if state.end == nil { state.end = end } }
  }

  func closeReader() {
    state.change { state in
      state.readerClosed = true
      state.bytes = Data()
    }
  }

  func closeWriter() { state.change { $0.writerClosed = true } }

  private func begin(_ busy: WritableKeyPath<State, Bool>) throws(TransportError) {
    let isFree = state.change { state in
      defer { state[keyPath: busy] = true }
      return !state[keyPath: busy]
    }
    guard isFree else { throw .busy }
  }

  private func wait(
    within limit: Duration?, until isMet: @escaping @Sendable (State) -> Bool
  ) async throws(TransportError) {
    switch await state.wait(within: limit, time: .continuous, until: isMet) {
    case .success: return
    case .failure(.cancelled): throw .cancelled(requestSent: true)
    case .failure(.limit):
      throw TransportError(stage: .timeout, code: .idleTimeout, message: "nothing moved in time", requestSent: true)
    }
  }
}

extension Duration? {
  /// What is left of a limit, zero at least.
  fileprivate func left(since start: ContinuousClock.Instant) -> Duration? {
    map { max(.zero, max(.zero, $0) - start.duration(to: .now)) }
  }
}

extension TransportError {
  fileprivate static var closedStream: Self {
    Self(stage: .request, code: .streamClosed, message: "the stream is closed on our side")
  }
  fileprivate static var truncated: Self {
    Self(
      stage: .response, code: .truncatedStream, message: "the stream ended without close_notify", requestSent: true)
  }
  fileprivate static var busy: Self {
    Self(
      stage: .request, code: .operationInProgress, message: "somebody else is at it already",
      hint: "one reader and one writer at a time")
  }
}
