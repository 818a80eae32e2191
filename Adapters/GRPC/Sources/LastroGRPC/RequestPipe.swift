// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import GRPCCore
internal import Lastro
internal import Synchronization

/// A bounded queue of framed messages from the writer of a call to the body of its request.
final class RequestPipe: Sendable {
  private struct State {
    var metadata: Metadata?
    var pending = Data()
    var isFinished = false
    var isClosed = false
    /// The number of changes so far. A task that waits looks again after each change.
    var changes: UInt64 = 0
    var waiting: [CheckedContinuation<Void, Never>] = []

    mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
      changes += 1
      defer { waiting = [] }
      return waiting
    }
  }

  /// The number of bytes from which a writer waits for the connection.
  private static let room = 64 * 1024
  /// Whether the request is sent as a whole, so that writers do not wait.
  private let isWhole: Bool
  private let state = Mutex(State())

  init(isWhole: Bool) { self.isWhole = isWhole }

  // MARK: For the writer

  /// Starts the request.
  func start(_ metadata: Metadata) throws {
    try change { state in
      guard state.metadata == nil else {
        throw RPCError(code: .internalError, message: "the metadata of a request can be written once")
      }
      state.metadata = metadata
    }
  }

  /// Queues a message, and waits for room behind it.
  ///
  /// - Throws: `RPCError` if the call or its request has ended; `CancellationError`.
  func write(_ message: [UInt8]) async throws {
    try change { state in
      guard !state.isFinished, !state.isClosed else {
        throw RPCError(code: .cancelled, message: "the call takes no more messages, because it has ended")
      }
      state.pending.appendFrame(message)
    }
    if isWhole { return }
    try await wait { $0.pending.count < Self.room || $0.isClosed ? () : nil }
  }

  func finish() { change { $0.isFinished = true } }

  /// Drops what was not sent, because the call has ended.
  func close() {
    change { state in
      state.isClosed = true
      state.pending = Data()
    }
  }

  // MARK: For the request

  /// Returns the metadata once it is written.
  func metadata() async throws -> Metadata {
    try await wait { state in
      if let metadata = state.metadata { return metadata }
      if state.isFinished || state.isClosed { throw CancellationError() }
      return nil
    }
  }

  /// Returns all messages once the request is finished.
  func whole() async throws -> Data {
    try await wait { state in
      if state.isClosed { throw CancellationError() }
      return state.isFinished ? state.pending : nil
    }
  }

  /// Returns the queued messages, waiting for one if necessary; `nil` at the end.
  func next() async throws -> Data? {
    let chunk = try await wait { state -> Data? in
      if state.isClosed { throw CancellationError() }
      // An empty chunk is the end.
      guard !state.pending.isEmpty || state.isFinished else { return nil }
      defer { state.pending = Data() }
      return state.pending
    }
    // Writers may wait for room.
    change { _ in }
    return chunk.isEmpty ? nil : chunk
  }

  // MARK: Waiting

  private func change(_ body: (inout State) throws -> Void) rethrows {
    let waiting = try state.withLock { state in
      try body(&state)
      return state.takeWaiting()
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Looks after each change until `look` returns a value.
  private func wait<Value>(_ look: (inout State) throws -> Value?) async throws -> Value {
    while true {
      let (value, changes) = try state.withLock { (try look(&$0), $0.changes) }
      if let value { return value }
      try Task.checkCancellation()
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isLate = state.withLock { state in
            if state.changes != changes { return true }
            state.waiting.append(continuation)
            return false
          }
          if isLate { continuation.resume() }
        }
      } onCancel: {
        change { _ in }
      }
    }
  }
}

extension RequestPipe {
  /// The messages as the body of a request.
  struct Chunks: AsyncSequence, Sendable {
    let pipe: RequestPipe

    struct AsyncIterator: AsyncIteratorProtocol {
      let pipe: RequestPipe

      mutating func next() async throws -> Data? { try await pipe.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pipe: pipe) }
  }
}

extension Data {
  /// Appends a message with its prefix: a byte that says that it is not compressed, and its length.
  fileprivate mutating func appendFrame(_ message: [UInt8]) {
    reserveCapacity(count + 5 + message.count)
    append(0)
    let length = UInt32(message.count)
    append(contentsOf: [
      UInt8(truncatingIfNeeded: length >> 24), UInt8(truncatingIfNeeded: length >> 16),
      UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length),
    ])
    append(contentsOf: message)
  }
}

/// Writes the parts of a call's request.
struct RequestWriter: ClosableRPCWriterProtocol {
  typealias Element = RPCRequestPart<[UInt8]>

  let call: GRPCCall

  func write(_ element: Element) async throws {
    switch element {
    case .metadata(let metadata): try call.pipe.start(metadata)
    case .message(let message):
      try call.checkRequest(message.count)
      try await call.pipe.write(message)
    }
  }

  func write(contentsOf elements: some Sequence<Element>) async throws {
    for element in elements { try await write(element) }
  }

  func finish() async { call.pipe.finish() }

  func finish(throwing error: any Error) async {
    call.fail(
      error as? RPCError
        ?? (error is CancellationError
          ? RPCError(code: .cancelled, message: "the request was cancelled", cause: error)
          : RPCError(code: .unknown, message: "the request could not be written", cause: error)))
  }
}
