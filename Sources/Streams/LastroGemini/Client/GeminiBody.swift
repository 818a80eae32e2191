// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// The body of a Gemini response: bytes in memory, or a stream that a single reader consumes once; see
/// ``GeminiResponse/body``.
package struct GeminiBody: AsyncSequence, Sendable {
  /// A piece of the body, never empty.
  package typealias Element = Data
  /// The error that prevented the rest from being read.
  package typealias Failure = GeminiError

  fileprivate enum Storage: Sendable {
    case bytes(Data, isTruncated: Bool)
    case stream(GeminiBodySource)
  }

  private let storage: Storage

  /// Creates a body in memory.
  init(_ bytes: Data, isTruncated: Bool = false) { storage = .bytes(bytes, isTruncated: isTruncated) }

  init(_ source: GeminiBodySource) { storage = .stream(source) }

  /// The bytes, if they are in memory; `nil` for a stream.
  package var bytes: Data? { if case .bytes(let data, _) = storage { data } else { nil } }

  /// Whether the body ended without close_notify, which was accepted.
  package var isTruncated: Bool {
    switch storage {
    case .bytes(_, let isTruncated): isTruncated
    case .stream(let source): source.isTruncated
    }
  }

  /// Abandons the rest and closes the connection.
  package func cancel() { if case .stream(let source) = storage { source.cancel() } }

  /// Reads the whole body into memory.
  func collect(upTo limit: Int) async throws(GeminiError) -> Data {
    var collected = Data()
    for try await piece in self {
      guard piece.count <= limit - collected.count else {
        cancel()
        throw GeminiError(
          stage: .limit, code: .bodyTooLarge, message: "the body exceeds \(limit.counted("byte"))",
          hint: "raise the limit, or stream the body")
      }
      collected.append(piece)
    }
    return collected
  }

  /// An iterator over the pieces of the body.
  package struct AsyncIterator: AsyncIteratorProtocol {
    private var remaining: Data?
    private let source: GeminiBodySource?

    fileprivate init(_ storage: Storage) {
      switch storage {
      case .bytes(let data, _):
        remaining = data.isEmpty ? nil : data
        source = nil
      case .stream(let source): self.source = source
      }
    }

    /// Returns the next piece, or `nil` at the end.
    ///
    /// - Throws: ``GeminiError``: the reason why the rest cannot be read.
    package mutating func next() async throws(GeminiError) -> Data? { try await next(isolation: #isolation) }

    /// Returns the next piece, or `nil` at the end.
    ///
    /// - Throws: ``GeminiError``: the reason why the rest cannot be read.
    package mutating func next(isolation actor: isolated (any Actor)?) async throws(GeminiError) -> Data? {
      if let source { return try await source.next() }
      defer { remaining = nil }
      return remaining
    }
  }

  /// Creates the iterator. A stream has a single reader: a second one gets only the bytes that the first has left.
  package func makeAsyncIterator() -> AsyncIterator { AsyncIterator(storage) }
}

/// A reader of the body of one response.
final class GeminiBodySource: Sendable {
  private enum State {
    case open(Data)
    case ended(isTruncated: Bool)
    case failed(GeminiError)
  }

  private static let pieceBytes = 65_536

  private let stream: any ByteStream
  private let clock: GeminiDeadline
  private let idleTimeout: Duration?
  private let toleratesTruncation: Bool
  private let url: GeminiURL
  private let header: GeminiResponseHeader
  private let state: Lock<State>

  /// - Parameter first: bytes that arrived with the header.
  init(
    _ stream: any ByteStream, first: Data, clock: GeminiDeadline, configuration: GeminiConfiguration, url: GeminiURL,
    header: GeminiResponseHeader
  ) {
    self.stream = stream
    self.clock = clock
    self.url = url
    self.header = header
    idleTimeout = configuration.idleTimeout
    toleratesTruncation = configuration.toleratesTruncation
    state = Lock(.open(first))
  }

  deinit { stream.close() }

  var isTruncated: Bool {
    state.withLock { state in if case .ended(let isTruncated) = state { isTruncated } else { false } }
  }

  func cancel() {
    state.withLock { state in
      if case .open = state { state = .failed(cancelled) }
    }
    stream.close()
  }

  func next() async throws(GeminiError) -> Data? {
    // Streams return buffered bytes without checking the limit, so check it here: otherwise a body that never pauses
    // would never end.
    let isLate = clock.hasPassed
    let ready: Result<Data?, GeminiError>? = state.withLock { state in
      switch state {
      case .open where isLate:
        let error = clock.error(url: url, header: header)
        state = .failed(error)
        return .failure(error)
      case .open(let first) where !first.isEmpty:
        state = .open(Data())
        return .success(first)
      case .open: return nil
      case .ended: return .success(nil)
      case .failed(let error): return .failure(error)
      }
    }
    if let ready {
      if case .failure = ready { stream.close() }
      return try ready.get()
    }
    do throws(TransportError) {
      if let data = try await stream.read(upTo: Self.pieceBytes, within: clock.limit(idleTimeout)) { return data }
    } catch {
      if error.code == .truncatedStream, toleratesTruncation { return finish(isTruncated: true) }
      throw fail(error)
    }
    return finish(isTruncated: false)
  }

  private func finish(isTruncated: Bool) -> Data? {
    state.withLock { $0 = .ended(isTruncated: isTruncated) }
    stream.close()
    return nil
  }

  private func fail(_ cause: TransportError) -> GeminiError {
    let error = error(cause)
    // A concurrent second reader, or a cancelled one, does not affect the state.
    guard cause.code != .operationInProgress, cause.code != .cancelled else { return error }
    let first: GeminiError = state.withLock { state in
      if case .failed(let first) = state { return first }
      state = .failed(error)
      return error
    }
    stream.close()
    return first
  }

  private var cancelled: GeminiError {
    var error = GeminiError.cancelled(url: url)
    error.header = header
    return error
  }

  private func error(_ cause: TransportError) -> GeminiError {
    var error = GeminiError(cause, url: url)
    error.header = header
    switch cause.code {
    case .truncatedStream:
      error.stage = .response
      error.code = .truncatedBody
      error.message = "the body ended without close_notify: bytes may be missing"
      error.hint = "ask again; GeminiConfiguration.toleratesTruncation lets servers pass that always do so"
    case .idleTimeout where clock.hasPassed: return clock.error(url: url, header: header)
    case .idleTimeout:
      error.message = "no byte of the body came for \(idleTimeout?.brief ?? "long")"
      error.hint = "raise GeminiConfiguration.idleTimeout, if the server is known to pause"
    default: break
    }
    return error
  }
}

/// The deadline of a whole request.
struct GeminiDeadline: Sendable {
  let time: TimeSource
  let total: Duration?
  private var countdown: Countdown

  init(time: TimeSource, total: Duration?) {
    self.time = time
    self.total = total
    countdown = Countdown(total, now: time.now)
  }

  var hasPassed: Bool { countdown.left == .zero }

  /// Returns the smaller of a limit and the time left; never negative.
  func limit(_ other: Duration?) -> Duration? { [countdown.left, other].compactMap(\.self).min() }

  /// Extends the deadline by the time since `start`: waiting for a person does not count.
  mutating func forgive(since start: Duration) { countdown.extend(by: time.now() - start) }

  func error(url: GeminiURL?, header: GeminiResponseHeader? = nil) -> GeminiError {
    GeminiError(
      stage: .timeout, code: .totalTimeout,
      message: "the request took longer than \(total?.brief ?? "the total timeout")",
      hint: "raise GeminiConfiguration.totalTimeout", url: url, header: header)
  }
}
