// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import HTTPTypes
package import Lastro
internal import LastroSupport

/// A byte stream that an extended CONNECT opens (RFC 8441): the body of the request carries what is written, and the
/// body of the response what is read.
///
/// Flow control is that of the two bodies. ``finishWriting(within:)`` ends the request (END_STREAM), and ``close()``
/// cancels the exchange (RST_STREAM with CANCEL), unless the server has ended its direction already.
package final class ExchangeStream: ByteStream {
  private struct State {
    var turns: Turns = []
    /// The bytes of the write in progress, until the upload takes them.
    var outgoing: Data?
    var isFinished = false
    /// Whether the upload has ended, although nobody has finished writing.
    var isBroken = false
    var isClosed = false
    /// Whether a read of the body is in progress. It continues if the task that waits for it is cancelled.
    var isReceiving = false
    /// The bytes that were received and not read, or the end.
    var incoming: Result<Data?, TransportError>?
  }

  package let facts: StreamFacts
  private let body: ResponseBody
  private let state: Watched<State>
  private let time: TimeSource

  private init(_ answer: TransferResponse, _ state: Watched<State>, _ time: TimeSource) {
    body = answer.body
    self.state = state
    self.time = time
    let facts = answer.facts
    self.facts = StreamFacts(
      remoteAddress: facts.remoteAddress, remotePort: facts.remotePort,
      localPort: facts.connectionID.map { Int($0) }, trust: facts.trust ?? .plain)
  }

  /// Performs an extended CONNECT.
  ///
  /// - Parameters:
  ///   - request: the request with its protocol, without a body. Its delivery streams the body of a 2xx response.
  ///   - time: measures the limits of reads and writes.
  /// - Returns: the response. After 2xx, its body is the stream (`ResponseBody.upgraded`).
  /// - Throws: the errors of the transport; code `unsupported`, before anything was sent, if the server does not speak
  ///   HTTP/2 or does not announce that it accepts the request.
  package static func open(
    _ request: TransferRequest, over transport: any Transport, time: TimeSource
  ) async throws(TransportError) -> TransferResponse {
    let state = Watched(State())
    var request = request
    request.isTunnel = true
    request.body = RequestBody(
      source: .stream(length: nil, isReplayable: false) { { await Self.nextChunk(of: state) } })
    var answer = try await transport.execute(request)
    guard answer.head.status.kind == .successful else { return answer }
    answer.body = ResponseBody(upgraded: ExchangeStream(answer, state, time))
    return answer
  }

  deinit { close() }

  /// Returns what is written next; `nil` at the end. Called by the upload.
  private static func nextChunk(of state: Watched<State>) async -> Data? {
    let isMet = await state.wait { $0.outgoing != nil || $0.isFinished || $0.isClosed }
    return state.change { state in
      // The upload was stopped, because the exchange is over. Its writer must not take the bytes for sent.
      if !isMet || Task.isCancelled { state.isBroken = true }
      return state.isBroken ? nil : state.outgoing.take()
    }
  }

  package func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data? {
    guard maximum > 0 else { throw .emptyRead(maximum) }
    let mustReceive = try state.change { state throws(TransportError) -> Bool in
      if state.isClosed { throw .streamClosed }
      try state.turns.begin(.reading)
      guard state.incoming == nil, !state.isReceiving else { return false }
      state.isReceiving = true
      return true
    }
    if mustReceive { receive() }
    let interruption = await wait(within: limit) { $0.incoming != nil || $0.isClosed }
    return try state.change { state throws(TransportError) -> Data? in
      state.turns.remove(.reading)
      if state.isClosed { throw .streamClosed }
      guard let incoming = state.incoming else {
        throw .interrupted(interruption ?? .cancelled, within: limit)
      }
      // The end is returned by later calls, too.
      guard let data = try incoming.get() else { return nil }
      state.incoming = nil
      if data.count > maximum { state.incoming = .success(data.dropFirst(maximum)) }
      return Data(data.prefix(maximum))
    }
  }

  /// Receives the next piece, in a task that does not hold the stream.
  private func receive() {
    Task { [body, state] in
      let piece: Result<Data?, TransportError>
      do throws(TransportError) {
        var pieces = body.makeAsyncIterator()
        piece = .success(try await pieces.next())
      } catch {
        piece = .failure(error)
      }
      state.change { state in
        state.isReceiving = false
        state.incoming = piece
      }
    }
  }

  package func write(_ data: Data, within limit: Duration?) async throws(TransportError) {
    try state.change { state throws(TransportError) in
      if state.isClosed || state.isFinished { throw .streamClosed }
      try state.turns.begin(.writing)
      if !data.isEmpty { state.outgoing = data }
    }
    let interruption = await wait(within: limit) { $0.outgoing == nil || $0.isBroken || $0.isClosed }
    let (rest, isClosed) = state.change { state in
      state.turns.remove(.writing)
      return (state.outgoing.take(), state.isClosed)
    }
    if rest == nil { return }
    if isClosed { throw .streamClosed }
    guard let interruption else { throw .endedTunnel }
    close()
    throw .interrupted(interruption, within: limit)
  }

  /// Waits until the state meets a condition; returns the reason if the wait ends earlier.
  private func wait(
    within limit: Duration?, until isMet: @escaping @Sendable (State) -> Bool
  ) async -> Interruption? {
    guard let limit else { return await state.wait(until: isMet) ? nil : .cancelled }
    if case .failure(let interruption) = await state.wait(within: limit, time: time, until: isMet) {
      return interruption
    }
    return nil
  }

  package func finishWriting(within limit: Duration?) async throws(TransportError) {
    try state.change { state throws(TransportError) in
      if state.isClosed { throw .streamClosed }
      if state.turns.contains(.writing) { throw .streamBusy }
      state.isFinished = true
    }
  }

  package func close() {
    // Does nothing if the server has ended its direction: then the end of ours follows.
    body.cancel()
    state.change { $0.isClosed = true }
  }
}

extension TransportError {
  /// The error of a write after the peer has ended the exchange.
  fileprivate static var endedTunnel: Self {
    Self(
      stage: .send, code: .sendFailed, message: "the server ended the stream while it was written to",
      hint: "read the stream to learn the reason", requestSent: true)
  }
}
