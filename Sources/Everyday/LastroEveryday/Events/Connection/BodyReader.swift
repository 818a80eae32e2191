// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import Lastro

/// Reads a body, and ends it if it is silent for too long: the engine's idle timeout is raised to the limit for the
/// first byte, so it is too long for the rest.
///
/// By ``finish(failing:)``, the body's reader reports to observers how the body ended.
struct BodyReader: Sendable {
  private let body: ResponseBody
  private let time: TimeSource
  private let idle: Duration?
  private let firstByte: Duration
  private let opened: Duration
  private var isAtStart = true
  private var hasEnded = false

  init(_ body: ResponseBody, idle: Duration?, firstByte: Duration, time: TimeSource) {
    self.body = body
    self.idle = idle
    self.firstByte = firstByte
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

  /// Returns the next bytes; `nil` at the proper end.
  mutating func next() async throws(TransportError) -> [UInt8]? {
    let bytes = try await read()
    isAtStart = false
    hasEnded = bytes == nil
    return bytes
  }

  private func read() async throws(TransportError) -> [UInt8]? {
    if let bytes = body.bytes { return isAtStart && !bytes.isEmpty ? Array(bytes) : nil }
    guard let idle else { return try await Self.read(body).get() }
    let limit = isAtStart ? max(idle, firstByte) : idle
    let body = body
    switch await interruptible(within: limit, time: time, { await Self.read(body) }) {
    case .success(let outcome): return try outcome.get()
    case .failure(.cancelled):
      body.cancel()
      throw .cancelled(requestSent: true)
    case .failure(.limit):
      let error = TransportError(
        stage: .timeout, code: .idleTimeout, message: "the server sent no byte of the stream for \(limit.brief)",
        hint: isAtStart
          ? "raise EventStreamOptions.firstEvent or JSONStreamOptions.firstText, if the server needs that long"
          : "raise Timeouts.idle, or have the server send comments", requestSent: true, facts: body.finalFacts)
      body.finish(failing: error)
      throw error
    }
  }

  private static func read(_ body: ResponseBody) async -> Result<[UInt8]?, TransportError> {
    var iterator = body.makeAsyncIterator()
    do throws(TransportError) {
      return .success(try await iterator.next().map { Array($0) })
    } catch {
      return .failure(error)
    }
  }
}
