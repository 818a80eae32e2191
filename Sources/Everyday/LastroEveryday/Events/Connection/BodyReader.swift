// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// Reads a body, and ends it if its first element comes too late, or if it is silent for too long: the engine's idle
/// timeout is raised to the limit for the beginning, so it is too long for the rest.
///
/// By ``finish(failing:)``, the body's reader reports to observers how the body ended.
struct BodyReader: Sendable {
  /// The silence that is permitted before the first byte if the first element has no limit of its own, and if the idle
  /// timeout is shorter: a model may think for minutes before its first word.
  static let firstSilence = Duration.seconds(300)

  private let body: ResponseBody
  private let time: TimeSource
  private let idle: Duration?
  private let first: FirstElementLimit?
  private let opened: Duration
  private var isAtStart = true
  private var hasElement = false
  private var hasEnded = false

  /// - Parameters:
  ///   - body: the body, whose head has just arrived.
  ///   - idle: the maximum silence between bytes; `nil` for no limit.
  ///   - first: the limit for the first element, which replaces `idle` until ``endFirstElementLimit()`` is called;
  ///     `nil` if `idle` applies from the first byte on.
  ///   - time: the source of time.
  init(_ body: ResponseBody, idle: Duration?, first: FirstElementLimit?, time: TimeSource) {
    self.body = body
    self.idle = idle
    self.first = first
    self.time = time
    opened = time.now()
    body.awaitVerdict()
  }

  /// The time since the body was opened.
  var age: Duration { time.now() - opened }
  var finalFacts: TransferFacts? { body.finalFacts }

  /// Ends the body, as complete or with a failure.
  func finish(failing error: TransportError? = nil) {
    if hasEnded, error == nil { body.conclude() } else { body.finish(failing: error) }
  }

  /// Ends the limit for the first element, which has arrived.
  mutating func endFirstElementLimit() {
    guard !hasElement else { return }
    hasElement = true
    first?.markArrived()
  }

  /// Returns the next bytes; `nil` at the proper end.
  mutating func next() async throws(TransportError) -> [UInt8]? {
    let bytes = try await read()
    isAtStart = false
    hasEnded = bytes == nil
    return bytes
  }

  private func read() async throws(TransportError) -> [UInt8]? {
    if let bytes = body.bytes { return isAtStart && !bytes.isEmpty ? Array(bytes) : nil }
    guard let limit else { return try await Self.read(body).get() }
    // Bytes that are always there, such as a flood of comments, must not outlast the limit for the first element.
    guard limit > .zero else { throw ended(after: limit) }
    let body = body
    switch await interruptible(within: limit, time: time, { await Self.read(body) }) {
    case .success(let outcome): return try outcome.get()
    case .failure(.cancelled):
      body.cancel()
      throw .cancelled(requestSent: true)
    case .failure(.limit): throw ended(after: limit)
    }
  }

  /// The limit for which the first element is still awaited.
  private var awaited: FirstElementLimit? { hasElement ? nil : first }

  /// The longest wait for the next bytes; `nil` for no limit.
  private var limit: Duration? {
    if let awaited { return awaited.limit - age }
    return isAtStart ? idle.map { max($0, Self.firstSilence) } : idle
  }

  /// Ends the body after a wait that took too long, and returns the error to throw.
  private func ended(after limit: Duration) -> TransportError {
    let detail = isAtStart ? "" : ", although other bytes did"
    let late = awaited?.failure(" of the response's head\(detail)", facts: body.finalFacts)
    let error = late ?? silence(limit)
    body.finish(failing: error)
    return error
  }

  private func silence(_ limit: Duration) -> TransportError {
    TransportError(
      stage: .timeout, code: .idleTimeout, message: "the server sent no byte of the stream for \(limit.brief)",
      hint: isAtStart
        ? "set the parameter firstEvent or firstText, if the server needs that long"
        : "raise Timeouts.idle, or have the server send comments", requestSent: true, facts: body.finalFacts)
  }

  private static func read(_ body: ResponseBody) async -> Result<[UInt8]?, TransportError> {
    var iterator = body.makeAsyncIterator()
    return await Result { () async throws(TransportError) in try await iterator.next().map { Array($0) } }
  }
}
