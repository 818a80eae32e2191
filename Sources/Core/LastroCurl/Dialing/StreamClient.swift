// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The common part of the user's ends of both kinds of streams. It posts operations to the loop that has the other end.
struct StreamClient: Sendable {
  let id: UInt64
  let loop: EventLoop
  let ending: StreamEnd

  /// Throws if the stream has ended, or the caller's task is cancelled.
  func check() throws(TransportError) {
    if let error = ending.error { throw error }
    if Task.isCancelled { throw .cancelled() }
  }

  func post(_ command: StreamCommand) throws(TransportError) {
    guard loop.post(command) else { throw ending.error ?? .shutDown }
  }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    try check()
    let read = StreamRead(id, maximum: maximum, within: limit)
    try post(.read(read))
    let outcome = await read.answer.value {
      // The loop sees that the read has been answered, and keeps later bytes.
      read.answer.offer(.failure(.cancelled(requestSent: true)))
    }
    return try outcome.get()
  }

  func close() {
    ending.set(.streamClosed)
    _ = loop.post(StreamCommand.close(id))
  }
}
