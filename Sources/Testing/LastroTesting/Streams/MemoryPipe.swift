// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// A direction of a ``MemoryStream``.
final class MemoryPipe: Sendable {
  enum End {
    case clean
    case truncated
  }

  struct State {
    var bytes = Data()
    var end: End?
    var readerClosed = false
    var writerClosed = false
    var turns = Turns()
  }

  private let shape: MemoryStream.Shape
  let state = Watched(State())

  init(_ shape: MemoryStream.Shape) { self.shape = shape }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    try begin(.reading)
    let countdown = Countdown(limit)
    defer { end(.reading) }
    while true {
      let step: Result<Data?, TransportError>? = state.change { state in
        if state.readerClosed { return .failure(.streamClosed) }
        if !state.bytes.isEmpty {
          let count = min(maximum, shape.longestRead, state.bytes.count)
          let piece = Data(state.bytes.prefix(count))
          state.bytes = state.bytes.dropFirst(count)
          // A growing slice keeps the bytes already read. Copy the slice when more bytes were read than are left, so
          // that copying stays cheap.
          if state.bytes.startIndex >= state.bytes.count { state.bytes = Data(state.bytes) }
          return .success(piece)
        }
        switch state.end {
        case .clean: return .success(nil)
        case .truncated: return .failure(.truncated)
        case nil: return nil
        }
      }
      if let step { return try step.get() }
      try await wait(within: countdown.left) { $0.readerClosed || !$0.bytes.isEmpty || $0.end != nil }
    }
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    let countdown = Countdown(limit)
    var rest = data[...]
    while !rest.isEmpty {
      let taken: Result<Int, TransportError> = state.change { state in
        if state.writerClosed || state.end != nil { return .failure(.streamClosed) }
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
      try await wait(within: countdown.left) { [capacity = shape.capacity] in
        $0.writerClosed || $0.readerClosed || $0.end != nil || $0.bytes.count < capacity
      }
    }
  }

  /// Ends the direction from the writer's side; fails during a write and after the stream was closed.
  func finishWriting() throws(TransportError) {
    try begin(.writing)
    defer { end(.writing) }
    let isClosed = state.change { state in
      if state.end == nil { state.end = .clean }
      return state.writerClosed
    }
    if isClosed { throw .streamClosed }
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

  private func begin(_ turn: Turns) throws(TransportError) {
    try state.change { state throws(TransportError) in try state.turns.begin(turn) }
  }

  private func end(_ turn: Turns) { state.change { _ = $0.turns.remove(turn) } }

  private func wait(
    within limit: Duration?, until isMet: @escaping @Sendable (State) -> Bool
  ) async throws(TransportError) {
    let outcome = await state.wait(within: limit, time: .continuous, until: isMet)
    try outcome.mapError { TransportError.interrupted($0, within: limit) }.get()
  }
}

extension TransportError {
  fileprivate static var truncated: Self {
    Self(
      stage: .response, code: .truncatedStream,
      message: "the stream ended without TLS close_notify: bytes may be missing",
      requestSent: true)
  }
}
