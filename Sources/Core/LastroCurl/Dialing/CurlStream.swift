// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The user's end of a stream of bytes or datagrams. It posts operations to the loop that has the other end.
final class CurlStream: LoopStream {
  let runsOnLoops = true
  let facts: StreamFacts
  /// The verified chain of the server; `nil` for plain text and for datagrams.
  let trust: ServerTrust?
  private let dial: StreamDial

  /// - Parameter dial: the dial, which has a loop.
  init(_ facts: StreamFacts, of dial: StreamDial, trust: ServerTrust? = nil) {
    self.facts = facts
    self.trust = trust
    self.dial = dial
  }

  deinit { close() }

  func hasEnded(on loop: AnyObject?) -> Bool {
    dial.look(on: loop)
    return dial.peerHasEnded || dial.failure != nil
  }

  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else {
      throw .emptyRead(maximum)
    }
    try check()
    let read = StreamRead(dial.id, maximum: maximum, within: limit)
    try post(.read(read))
    let outcome = await read.answer.value {
      // The loop sees that the read has been answered, and keeps later bytes.
      read.answer.offer(.failure(.cancelled(requestSent: true)))
    }
    return try outcome.get()
  }

  func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try check()
    if data.isEmpty { return }
    try await perform(StreamWrite(dial.id, data, within: limit))
  }

  func finishWriting(within limit: Duration?) async throws(TransportError) {
    try check()
    try await perform(StreamWrite(dial.id, nil, within: limit))
  }

  func close() {
    dial.recordEnd(.streamClosed)
    _ = dial.loop?.inbox.post(.close(dial.id))
  }

  /// Throws if the stream has ended, or the caller's task is cancelled.
  private func check() throws(TransportError) {
    if let error = dial.failure { throw error }
    if Task.isCancelled { throw .cancelled() }
  }

  private func post(_ command: StreamCommand) throws(TransportError) {
    guard dial.loop?.inbox.post(command) == true else { throw dial.failure ?? .shutDown }
  }

  private func perform(_ write: StreamWrite) async throws(TransportError) {
    try post(.write(write))
    let outcome = await write.answer.value {
      if write.answer.offer(.failure(.cancelled(requestSent: true))) { close() }
    }
    try outcome.get()
  }
}

/// The operations on datagrams. The dial decides which of the two kinds of stream the caller gets.
extension CurlStream: DatagramStream {
  /// The maximum size over IPv4, or over IPv6 without jumbograms (RFC 768, RFC 8200 §4.5).
  var maximumDatagramBytes: Int { facts.remoteAddress?.contains(":") == true ? 65_527 : 65_507 }

  func receive(within limit: Duration?) async throws(TransportError) -> Data {
    try await read(upTo: .max, within: limit) ?? Data()
  }

  /// Sends a datagram, which may be empty. The stream stays open if the task is cancelled.
  func send(_ datagram: Data, within limit: Duration?) async throws(TransportError) {
    guard datagram.count <= maximumDatagramBytes else {
      throw .refused(
        .invalidOption, "the datagram has \(datagram.count) bytes, above the maximum of \(maximumDatagramBytes)",
        hint: "send it in parts")
    }
    try check()
    let write = StreamWrite(dial.id, datagram, within: limit)
    try post(.write(write))
    try await write.answer.value { write.answer.offer(.failure(.cancelled())) }.get()
  }
}

extension Duration? {
  /// The time at which the limit expires, in nanoseconds of ``monotonicNow()``.
  var expiry: Int64 { map { monotonicNow().adding($0) } ?? .max }
}
