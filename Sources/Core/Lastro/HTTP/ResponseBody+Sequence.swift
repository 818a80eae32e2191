// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import LastroSupport

extension ResponseBody {
  /// Makes a streamed body of the chunks of an asynchronous sequence, such as the response of a scripted test.
  ///
  /// ```swift
  /// let (chunks, test) = AsyncStream.makeStream(of: Data.self)
  /// let answer = TransferResponse(head: HTTPResponse(status: .ok), body: ResponseBody(chunks))
  /// test.yield(Data("data: first\n\n".utf8))
  /// ```
  ///
  /// - Parameter chunks: the chunks, of which empty ones are left out. The sequence is iterated once, as fast as the
  ///   body is read. A `TransportError` that it throws ends the body unchanged; any other error ends it with stage
  ///   `response`, code `receive_failed`. When the body is cancelled or released, or its reader is cancelled, the task
  ///   that waits for a chunk is cancelled, and the iterator is released.
  public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element == Data {
    self.init(source: SequenceSource(chunks))
  }
}

/// A source that iterates an asynchronous sequence.
private final class SequenceSource<Chunks: AsyncSequence & Sendable>: ResponseBodySource where Chunks.Element == Data {
  private struct State {
    /// The reader; `nil` after the end.
    var reader: SequenceReader<Chunks>?
    var read: Task<Data?, any Error>?
    var isCancelled = false
  }

  private let state: Lock<State>

  init(_ chunks: Chunks) { state = Lock(State(reader: SequenceReader(chunks))) }

  var finalFacts: TransferFacts? { nil }

  func next() async throws(TransportError) -> Data? {
    let read = try state.withLock { state throws(TransportError) -> Task<Data?, any Error>? in
      if state.read != nil { throw .twoReaders }
      state.read = state.reader.map { reader in Task { try await reader.next() } }
      return state.read
    }
    let result = await withTaskCancellationHandler {
      await read?.result
    } onCancel: {
      read?.cancel()
    }
    let isCancelled = Task.isCancelled
    return try state.withLock { state throws(TransportError) -> Data? in
      state.read = nil
      if isCancelled, state.reader != nil { state.isCancelled = true }
      if !state.isCancelled, case .success(let chunk?) = result { return chunk }
      state.reader = nil
      if state.isCancelled { throw .cancelled(requestSent: true) }
      guard case .failure(let error) = result else { return nil }
      throw error as? TransportError
        ?? TransportError(
          stage: .response, code: .receiveFailed, message: "the source of the body failed: \(error)",
          hint: "throw a TransportError to choose the stage and the code", requestSent: true)
    }
  }

  func cancel() {
    let read = state.withLock { state in
      defer { (state.reader, state.read) = (nil, nil) }
      if state.reader != nil { state.isCancelled = true }
      return state.read
    }
    read?.cancel()
  }
}

/// An iterator that tasks use one after another.
private actor SequenceReader<Chunks: AsyncSequence & Sendable> where Chunks.Element == Data {
  private var iterator: Chunks.AsyncIterator?

  init(_ chunks: Chunks) { iterator = chunks.makeAsyncIterator() }

  func next() async throws -> Data? {
    guard var iterator = iterator.take() else { return nil }
    while let chunk = try await iterator.next(isolation: self) {
      if chunk.isEmpty { continue }
      self.iterator = iterator
      return chunk
    }
    return nil
  }
}
