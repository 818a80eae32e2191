// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

/// A transport that records the complete responses of another transport, including streamed bodies.
///
/// Failures are not recorded. A stream of events that its reader abandons is recorded as far as it was read. Another
/// body that is abandoned is marked as incomplete.
package final class RecordingTransport: Transport {
  /// Receives the archive after each recorded exchange. It is called by one thread at a time.
  package typealias Receiver = @Sendable (HAR) throws(TransportError) -> Void

  private struct State {
    var last = 0
    /// The entries, in the order in which they began.
    var entries: [(number: Int, entry: HAR.Entry)] = []
    /// The size of the entries, if it is limited.
    var bytes = 0
    /// The failure of a receiver that no caller has seen.
    var failure: TransportError?
  }

  private let base: any Transport
  private let redaction: Redaction
  private let limit: Int
  private let maximumBytes: Int?
  private let time: TimeSource
  private let receive: Receiver
  private let state = Lock(State())

  /// Wraps a transport.
  ///
  /// - Parameters:
  ///   - base: the transport that sends the requests.
  ///   - redaction: the rules for secrets. Those of each request are added.
  ///   - maximumBodyBytes: the maximum number of bytes of each body in the archive.
  ///   - maximumBytes: the maximum number of bytes of all exchanges together, by their texts. Beyond it the oldest are
  ///     dropped. Default `nil`: no limit.
  ///   - time: the time source for dates and durations.
  ///   - receive: receives the archive. Its error fails the exchange, or the next one if a body was abandoned.
  package init(
    over base: any Transport, redaction: Redaction, maximumBodyBytes: Int, maximumBytes: Int? = nil, time: TimeSource,
    receive: @escaping Receiver
  ) {
    self.base = base
    self.redaction = redaction
    self.maximumBytes = maximumBytes
    // More than a private file can hold is of no use, and a sum with the slack must not overflow.
    limit = min(max(0, maximumBodyBytes), PrivateFile.maximumBytes)
    self.time = time
    self.receive = receive
  }

  /// Returns what the wrapped transport would do.
  package func explain(_ request: TransferRequest) -> [(name: String, value: String)] { base.explain(request) }

  /// Performs an exchange.
  ///
  /// - Throws: the errors of the wrapped transport and of the receiver; code `incomplete_recording` for a response that
  ///   switches protocols.
  package func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let (number, failure) = state.withLock { state in
      state.last += 1
      return (state.last, state.failure.take())
    }
    if let failure { throw failure }
    let maker = HARMaker(redaction: redaction.adding(request.resourceRequest), limit: limit)
    let start = time.now()
    var entry = maker.entry(request.resourceRequest, startedAt: time.sinceEpoch())
    var response = try await base.execute(request)
    if let stream = response.body.upgraded {
      stream.close()
      throw TransportError(
        stage: .request, code: .incompleteRecording, message: "a response that switches protocols cannot be recorded",
        hint: "test other protocols with a server on this machine", requestSent: true)
    }
    if let bytes = response.body.bytes {
      maker.setResponse(of: &entry, response.head, body: bytes, response.facts)
      maker.time(&entry, response.facts, elapsed: time.now() - start)
      try record(entry, number: number)
      return response
    }
    let (head, facts, began) = (response.head, response.facts, entry)
    // The body keeps the recorder alive, because a reader may outlive the stack.
    let body = RecordedBody(response.body, limit: limit + HARBody.slack + 1) {
      [self] (bytes, count, isWhole, ended) throws(TransportError) in
      var entry = began
      maker.setResponse(of: &entry, head, body: bytes, ended ?? facts)
      entry.response.content.size = count
      if count > limit { entry.response.content.comment = "cut off after \(limit) of \(count) bytes" }
      // A stream of events has no end that its reader must see.
      if !isWhole, !(head.headerFields[.contentType] ?? "").lowercased().hasPrefix("text/event-stream") {
        entry.response.content.isTruncated = true
        entry.response.content.comment = "its reader stopped after \(count) bytes"
      }
      maker.time(&entry, ended, elapsed: time.now() - start)
      try record(entry, number: number)
    } abandoned: { [self] failure in
      state.withLock { $0.failure = failure }
    }
    response.body = ResponseBody(source: body)
    return response
  }

  private func record(_ entry: HAR.Entry, number: Int) throws(TransportError) {
    try state.withLock { (state) throws(TransportError) in
      let index = state.entries.lastIndex { $0.number < number }.map { $0 + 1 } ?? 0
      state.entries.insert((number, entry), at: index)
      if let maximumBytes {
        state.bytes += entry.keptBytes
        while state.bytes > maximumBytes, !state.entries.isEmpty {
          state.bytes -= state.entries.removeFirst().entry.keptBytes
        }
      }
      // Under the lock, so that a later archive is never replaced by an earlier one.
      try receive(HAR(entries: state.entries.map(\.entry)))
    }
  }
}
