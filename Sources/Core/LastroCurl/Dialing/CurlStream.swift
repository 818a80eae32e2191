// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The user's end of a stream that a loop runs.
final class CurlStream: LoopStream {
  let runsOnLoops = true
  let facts: StreamFacts
  private let id: UInt64
  private let loop: EventLoop
  private let ending: StreamEnd

  init(facts: StreamFacts, id: UInt64, loop: EventLoop, ending: StreamEnd) {
    self.facts = facts
    self.id = id
    self.loop = loop
    self.ending = ending
  }

  deinit { close() }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .emptyRead(maximum)
    }
    try check()
    let read = StreamRead(id, maximum: maximum, within: limit)
    try post(.read(read))
    let outcome = await withTaskCancellationHandler {
      await read.answer.value()
    } onCancel: {
      // The loop sees that the read has been answered, and keeps later bytes.
      read.answer.offer(.failure(.cancelled(requestSent: true)))
    }
    return try outcome.get()
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try check()
    if data.isEmpty { return }
    try await perform(StreamWrite(id, data, within: limit))
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try check()
    try await perform(StreamWrite(id, nil, within: limit))
  }

  func close() {
    ending.set(.streamClosed)
    _ = loop.post(StreamCommand.close(id))
  }

  private func perform(_ write: StreamWrite) async throws(TransportError) {
    try post(.write(write))
    let outcome = await withTaskCancellationHandler {
      await write.answer.value()
    } onCancel: {
      if write.answer.offer(.failure(.cancelled(requestSent: true))) { close() }
    }
    try outcome.get()
  }

  private func check() throws(TransportError) {
    if let error = ending.error { throw error }
    if Task.isCancelled { throw .cancelled() }
  }

  private func post(_ command: StreamCommand) throws(TransportError) {
    guard loop.post(command) else { throw ending.error ?? .shutDown }
  }
}

extension Duration? {
  /// The time at which the limit expires, in nanoseconds of ``monotonicNow()``.
  var expiry: Int64 { map { monotonicNow().adding($0) } ?? .max }
}
