// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport
package import LastroWire

/// A bounded queue of upload bytes from a pump task to the loop's thread.
package final class UploadChannel: Sendable {
  /// The outcome of a read by the loop.
  package enum Supply {
    case bytes(Int)
    case end
    /// There are no bytes at the moment. A resume follows.
    case wait
    case failed(TransportError)
  }

  private struct State {
    var chunks: [Data] = []
    /// The number of bytes of the first chunk that were taken already.
    var taken = 0
    /// The number of chunks at the start that were taken completely.
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

    /// Whether nothing follows the chunks, because the source has ended and was not stopped.
    var hasEnded: Bool { isEnded && !isStopped }

    /// Copies as much of the first chunk as fits.
    mutating func copy(to buffer: UnsafeMutableRawBufferPointer) -> Int {
      let chunk = chunks[first]
      let length = min(buffer.count, chunk.count - taken)
      let start = chunk.startIndex + taken
      chunk.copyBytes(to: buffer, from: start..<start + length)
      noteTaken(length, of: chunk)
      return length
    }

    private mutating func noteTaken(_ length: Int, of chunk: Data) {
      taken += length
      count -= length
      guard taken == chunk.count else { return }
      chunks[first] = Data()
      first += 1
      taken = 0
      if first > 64, first * 2 > chunks.count || first == chunks.count {
        chunks.removeFirst(first)
        first = 0
      }
    }

    /// Returns the rest of the first chunk, up to `most` bytes; `nil` if that is fewer than `least` bytes.
    mutating func chunk(from least: Int, upTo most: Int) -> Data? {
      guard failure == nil, count > 0 else { return nil }
      let chunk = chunks[first]
      let start = chunk.startIndex + taken
      let length = min(chunk.count - taken, most)
      guard length >= least else { return nil }
      noteTaken(length, of: chunk)
      return chunk[start..<start + length]
    }

    /// Returns the waiting pump once half of the capacity is free. Waking it for every chunk would cost more than
    /// copying one.
    mutating func takeWriter() -> CheckedContinuation<Bool, Never>? {
      count <= UploadChannel.capacity / 2 ? writer.take() : nil
    }
  }

  private static let capacity = 1 << 20
  private let body: RequestBody
  private let open: @Sendable () throws -> RequestBody.NextChunk
  private let state = Lock(State())

  /// Creates a channel; returns `nil` if the body is in memory and needs no pump.
  package init?(body: RequestBody) {
    self.body = body
    switch body.source {
    case .empty, .bytes: return nil
    case .stream(_, _, let open): self.open = { open() }
    case .file(let path, _):
      self.open = {
        let file = try FileDescriptor(reading: path)
        return { try file.read(upTo: 128 * 1024) }
      }
    }
  }

  /// Starts the task that fills the channel; only the first call does. `resume` is called when the loop waits for bytes
  /// or the end, and there are some.
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

  /// Stops the pump, whose bytes are not needed any more. A loop that reads before it learns the reason gets `.wait`
  /// from here on: `.end` would make half a body pass for a whole one.
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

  /// Fills `buffer` with the next bytes. For the loop.
  package func read(into buffer: UnsafeMutableRawBufferPointer) -> Supply {
    let (supply, writer): (Supply, CheckedContinuation<Bool, Never>?) = state.withLock { state in
      if let failure = state.failure { return (.failed(failure), nil) }
      guard state.count > 0 else {
        if state.hasEnded { return (.end, nil) }
        state.loopWaits = true
        return (.wait, nil)
      }
      var count = 0
      while count < buffer.count, state.count > 0 {
        count += state.copy(to: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
      }
      return (.bytes(count), state.takeWriter())
    }
    writer?.resume(returning: true)
    return supply
  }

  /// Returns a chunk as the source gave it, without a copy; `nil` if there is none, or only a small one.
  /// ``read(into:)`` reports which, and joins small chunks. For the loop.
  package func chunk(from least: Int, upTo most: Int) -> Data? {
    let (chunk, writer) = state.withLock { state in
      let chunk = state.chunk(from: least, upTo: most)
      return (chunk, chunk == nil ? nil : state.takeWriter())
    }
    writer?.resume(returning: true)
    return chunk
  }

  /// Returns the result that ``read(into:)`` would have, without taking bytes. For the loop.
  package func peek() -> Supply {
    state.withLock { state in
      if let failure = state.failure { return .failed(failure) }
      if state.count > 0 { return .bytes(state.count) }
      if state.hasEnded { return .end }
      state.loopWaits = true
      return .wait
    }
  }

  /// The trailers, available once ``read(into:)`` has returned the end.
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

  /// Queues a chunk, and waits for room; returns false if the upload was stopped.
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
      // Many sources end normally when their task is cancelled, although their body is incomplete.
      if state.isStopped { return false }
      state.isEnded = true
      state.trailers = trailers
      state.failure = failure
      defer { state.loopWaits = false }
      return state.loopWaits
    }
    if mustWake { resume() }
  }
}
