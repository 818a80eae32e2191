// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport
package import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A bounded hand-over of upload bytes from a pump task to the loop thread.
package final class UploadChannel: Sendable {
  /// What the loop's read callback finds.
  package enum Supply {
    case bytes(Int)
    case end
    /// Nothing yet: pause, and expect a resume.
    case wait
    case failed(TransportError)
  }

  private struct State {
    var chunks: [Data] = []
    /// Bytes of the first chunk that were taken already.
    var taken = 0
    /// Chunks taken whole.
    var first = 0
    var count = 0
    var isEnded = false
    var isStarted = false
    var isStopped = false
    var failure: TransportError?
    var trailers: [ResponseHead.Field] = []
    var loopWaits = false
    var pump: Task<Void, Never>?
    var writer: CheckedContinuation<Bool, Never>?

    /// Moves as much as fits of the first chunk.
    mutating func copy(to buffer: UnsafeMutableRawBufferPointer) -> Int {
      let chunk = chunks[first]
      let length = min(buffer.count, chunk.count - taken)
      let start = chunk.startIndex + taken
      chunk.copyBytes(to: buffer, from: start..<start + length)
      taken += length
      count -= length
      if taken == chunk.count {
        chunks[first] = Data()
        first += 1
        taken = 0
        if first > 64, first * 2 > chunks.count || first == chunks.count {
          chunks.removeFirst(first)
          first = 0
        }
      }
      return length
    }
  }

  private static let capacity = 512 * 1024
  private let body: RequestBody
  private let open: @Sendable () throws -> RequestBody.NextChunk
  private let state = Lock(State())

  /// `nil` when the body lies in memory and needs no pump.
  package init?(body: RequestBody) {
    self.body = body
    switch body.source {
    case .empty, .bytes: return nil
    case .stream(_, _, let open): self.open = { open() }
    case .file(let path, _): self.open = { try FileChunks(path: path).next }
    }
  }

  /// Starts the task that fills the channel; once. `resume` is called when the loop waits for bytes.
  package func start(resume: @escaping @Sendable () -> Void) {
    let isStarted = state.withLock { state in
      defer { state.isStarted = true }
      return state.isStarted
    }
    if isStarted { return }
    let task = Task { [self] in await pump(resume: resume) }
    let isStopped = state.withLock { state in
      if state.isStopped { return true }
      state.pump = task
      return false
    }
    if isStopped { task.cancel() }
  }

  /// Ends the pump, whose bytes are not needed any more.
  package func stop() {
    let (task, writer) = state.withLock { state in
      state.isStopped = true
      state.chunks = []
      state.count = 0
      defer {
        state.pump = nil
        state.writer = nil
      }
      return (state.pump, state.writer)
    }
    task?.cancel()
    writer?.resume(returning: false)
  }

  /// Loop side: fills `buffer`.
  package func read(into buffer: UnsafeMutableRawBufferPointer) -> Supply {
    let (supply, writer): (Supply, CheckedContinuation<Bool, Never>?) = state.withLock { state in
      if let failure = state.failure { return (.failed(failure), nil) }
      guard state.count > 0 else {
        if state.isEnded { return (.end, nil) }
        state.loopWaits = true
        return (.wait, nil)
      }
      var count = 0
      while count < buffer.count, state.count > 0 {
        count += state.copy(to: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
      }
      // The pump is not woken for every chunk: that costs more than copying one.
      let writer = state.count <= Self.capacity / 2 ? state.writer : nil
      if writer != nil { state.writer = nil }
      return (.bytes(count), writer)
    }
    writer?.resume(returning: true)
    return supply
  }

  /// Loop side: what ``read(into:)`` would find. Takes nothing.
  package func peek() -> Supply {
    state.withLock { state in
      if let failure = state.failure { return .failed(failure) }
      if state.count > 0 { return .bytes(state.count) }
      if state.isEnded { return .end }
      state.loopWaits = true
      return .wait
    }
  }

  /// What follows the last byte, once ``read(into:)`` has found the end.
  package var trailers: [ResponseHead.Field] { state.withLock { $0.trailers } }

  private func pump(resume: @Sendable () -> Void) async {
    do {
      let next = try open()
      while let chunk = try await next() {
        if chunk.isEmpty { continue }
        guard await write(chunk, resume: resume) else { return }
      }
      end(nil, try await body.trailerFields(), resume: resume)
    } catch {
      let failure =
        error as? TransportError
        ?? TransportError.sourceFailed(error)
      end(failure, [], resume: resume)
    }
  }

  /// False when the upload was stopped.
  private func write(_ chunk: Data, resume: @Sendable () -> Void) async -> Bool {
    let mustWake: Bool? = state.withLock { state in
      guard !state.isStopped else { return nil }
      state.chunks.append(chunk)
      state.count += chunk.count
      defer { state.loopWaits = false }
      return state.loopWaits
    }
    guard let mustWake else { return false }
    if mustWake { resume() }
    return await withCheckedContinuation { continuation in
      let answer: Bool? = state.withLock { state in
        if state.isStopped { return false }
        if state.count < Self.capacity { return true }
        state.writer = continuation
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  private func end(_ failure: TransportError?, _ trailers: [ResponseHead.Field], resume: @Sendable () -> Void) {
    let mustWake = state.withLock { state in
      state.isEnded = true
      state.trailers = trailers
      state.failure = failure
      defer { state.loopWaits = false }
      return state.loopWaits
    }
    if mustWake { resume() }
  }
}

/// Reads a file in pieces, off the loop thread.
private final class FileChunks {
  private let handle: FileDescriptor

  init(path: String) throws(TransportError) { handle = try FileDescriptor(reading: path) }

  func next() async throws -> Data? { try handle.read(upTo: 128 * 1024) }
}
