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
    /// The chunks that are read next, the first one last: removing the first element of an array moves all others.
    var next: [Data] = []
    /// The chunks that follow them, in order.
    var later: [Data] = []
    /// The number of bytes of all chunks.
    var count = 0
    /// The trailers if the source has ended, or the reason why it failed.
    var end: Result<[ResponseHead.Field], TransportError>?
    var isStopped = false
    var loopWaits = false
    var pump: Task<Void, Never>?
    var writer: CheckedContinuation<Bool, Never>?

    /// Returns what can be read, and notes that the loop waits if that is nothing.
    mutating func supply() -> Supply {
      if case .failure(let error) = end { return .failed(error) }
      if count > 0 { return .bytes(count) }
      if end != nil, !isStopped { return .end }
      loopWaits = true
      return .wait
    }

    /// Removes and returns the first chunk, or up to `most` bytes of it; `nil` if that is fewer than `least` bytes.
    mutating func takeChunk(from least: Int, upTo most: Int) -> Data? {
      if next.isEmpty {
        swap(&next, &later)
        next.reverse()
      }
      guard let chunk = next.last, min(chunk.count, most) >= least else { return nil }
      next.removeLast()
      if chunk.count > most { next.append(chunk.dropFirst(most)) }
      let piece = chunk.prefix(most)
      count -= piece.count
      return piece
    }

    /// Returns the waiting pump once half of the capacity is free. Waking it for every chunk would cost more than
    /// copying one.
    mutating func takeWriter(_ capacity: Int) -> CheckedContinuation<Bool, Never>? {
      count <= capacity / 2 ? writer.take() : nil
    }
  }

  /// The number of bytes from which on the pump waits.
  private let capacity: Int
  private let body: RequestBody
  private let open: @Sendable () throws -> RequestBody.NextChunk
  private let state = Lock(State())

  /// Creates a channel; returns `nil` if the body is in memory and needs no pump.
  ///
  /// - Parameter capacity: the number of bytes from which on the source waits. Default 1 MiB.
  package init?(body: RequestBody, capacity: Int = 1 << 20) {
    self.body = body
    self.capacity = capacity
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
    state.withLock { state in
      guard state.pump == nil, !state.isStopped else { return }
      state.pump = Task { [self] in await pump(resume: resume) }
    }
  }

  /// Stops the pump, whose bytes are not needed any more. A loop that reads before it learns the reason gets `.wait`
  /// from here on: `.end` would make half a body pass for a whole one.
  package func stop() {
    let (task, writer) = state.withLock { state in
      state.isStopped = true
      state.next = []
      state.later = []
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
      let supply = state.supply()
      guard case .bytes = supply else { return (supply, nil) }
      var count = 0
      while count < buffer.count, let piece = state.takeChunk(from: 1, upTo: buffer.count - count) {
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyBytes(from: piece)
        count += piece.count
      }
      return (.bytes(count), state.takeWriter(capacity))
    }
    writer?.resume(returning: true)
    return supply
  }

  /// Returns a chunk as the source gave it, without a copy; `nil` if there is none, or only a small one.
  /// ``read(into:)`` reports which, and joins small chunks. For the loop.
  package func chunk(from least: Int, upTo most: Int) -> Data? {
    let (chunk, writer): (Data?, CheckedContinuation<Bool, Never>?) = state.withLock { state in
      if case .failure = state.end { return (nil, nil) }
      let chunk = state.takeChunk(from: least, upTo: most)
      return (chunk, chunk == nil ? nil : state.takeWriter(capacity))
    }
    writer?.resume(returning: true)
    return chunk
  }

  /// Returns the result that ``read(into:)`` would have, without taking bytes. For the loop.
  package func peek() -> Supply { state.withLock { $0.supply() } }

  /// The trailers, available once ``read(into:)`` has returned the end.
  package var trailers: [ResponseHead.Field] { state.withLock { (try? $0.end?.get()) ?? [] } }

  private func pump(resume: @Sendable () -> Void) async {
    do {
      let next = try open()
      while let chunk = try await next() {
        if chunk.isEmpty { continue }
        if await write(chunk, resume: resume) { continue }
        // Only a call in the cancelled task tells a source that is held elsewhere that nobody reads it any more.
        _ = try await next()
        return
      }
      end(.success(try await body.trailerFields()), resume: resume)
    } catch {
      end(.failure(error as? TransportError ?? .sourceFailed(error)), resume: resume)
    }
  }

  /// Queues a chunk, and waits for room; returns false if the upload was stopped.
  private func write(_ chunk: Data, resume: @Sendable () -> Void) async -> Bool {
    let mustWake: Bool? = state.withLock { state in
      guard !state.isStopped else { return nil }
      state.later.append(chunk)
      state.count += chunk.count
      defer { state.loopWaits = false }
      return state.loopWaits
    }
    guard let mustWake else { return false }
    if mustWake { resume() }
    return await withCheckedContinuation { continuation in
      let answer: Bool? = state.withLock { state in
        if state.isStopped { return false }
        if state.count < capacity { return true }
        state.writer = continuation
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  private func end(_ end: Result<[ResponseHead.Field], TransportError>, resume: @Sendable () -> Void) {
    let mustWake = state.withLock { state in
      // Many sources end normally when their task is cancelled, although their body is incomplete.
      if state.isStopped { return false }
      state.end = end
      defer { state.loopWaits = false }
      return state.loopWaits
    }
    if mustWake { resume() }
  }
}
