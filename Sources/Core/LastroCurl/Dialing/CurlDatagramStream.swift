// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The user's end of a datagram stream.
final class CurlDatagramStream: DatagramStream {
  let facts: StreamFacts
  let maximumDatagramBytes: Int
  private let id: UInt64
  private let loop: EventLoop
  private let ending: StreamEnd

  init(facts: StreamFacts, maximumDatagramBytes: Int, id: UInt64, loop: EventLoop, ending: StreamEnd) {
    self.facts = facts
    self.maximumDatagramBytes = maximumDatagramBytes
    self.id = id
    self.loop = loop
    self.ending = ending
  }

  deinit { close() }

  func receive(within limit: Duration?) async throws(TransportError) -> Data {
    try check()
    let read = StreamRead(id, maximum: .max, within: limit)
    try post(.read(read))
    let outcome = await withTaskCancellationHandler {
      await read.answer.value()
    } onCancel: {
      read.answer.offer(.failure(.cancelled(requestSent: true)))
    }
    return try outcome.get() ?? Data()
  }

  func send(_ datagram: Data, within limit: Duration?) async throws(TransportError) {
    guard datagram.count <= maximumDatagramBytes else {
      throw .refused(
        .invalidOption, "the datagram has \(datagram.count) bytes, above the maximum of \(maximumDatagramBytes)",
        hint: "send it in parts")
    }
    try check()
    let write = StreamWrite(id, datagram, within: limit)
    try post(.write(write))
    let outcome = await withTaskCancellationHandler {
      await write.answer.value()
    } onCancel: {
      write.answer.offer(.failure(.cancelled()))
    }
    try outcome.get()
  }

  func close() {
    ending.set(.streamClosed)
    _ = loop.post(StreamCommand.close(id))
  }

  private func check() throws(TransportError) {
    if let error = ending.error { throw error }
    if Task.isCancelled { throw .cancelled() }
  }

  private func post(_ command: StreamCommand) throws(TransportError) {
    guard loop.post(command) else { throw ending.error ?? .shutDown }
  }
}
