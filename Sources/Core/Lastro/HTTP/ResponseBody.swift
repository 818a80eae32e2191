// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The source of a streamed ``ResponseBody``.
package protocol ResponseBodySource: AnyObject, Sendable {
  /// Returns the next chunk, or `nil` at the regular end. Called by one task at a time.
  ///
  /// - Throws: ``TransportError`` with the reason why the rest cannot be read.
  func next() async throws(TransportError) -> Data?
  /// Cancels the transfer and releases its connection. May be called at any time, and more than once.
  func cancel()
  /// Asks the server to send the rest of the body with another priority. Default: does nothing.
  func setPriority(_ priority: RequestPriority)
  /// The facts of the whole transfer; `nil` until it has ended.
  var finalFacts: TransferFacts? { get }
}

extension ResponseBodySource {
  package func setPriority(_ priority: RequestPriority) {}
}

/// The body of a response: bytes in memory, or a stream with back-pressure that a single reader consumes once.
///
/// Apart from a small buffer, the transfer reads only as much from the network as the reader consumes. The transfer is
/// cancelled when the last copy of the body, and of its iterators, is released. Leaving the loop early therefore
/// cancels the transfer only if no other copy of the body is left. Call `cancel()` to cancel it at once.
///
/// ```swift
/// let archive = try await github.stream(.archive(of: "apple/swift")).value
/// for try await chunk in archive { received += chunk.count }
/// ```
public struct ResponseBody: AsyncSequence, Sendable {
  /// A piece of the body, never empty.
  public typealias Element = Data
  /// The error that ends the body early.
  public typealias Failure = TransportError

  fileprivate enum Storage: Sendable {
    case bytes(Data)
    case source(Owner)
    case upgraded(any ByteStream)
  }

  /// The owner of a source. It cancels the transfer when the last copy of the body, and of its iterators, is released.
  fileprivate final class Owner: Sendable {
    let source: any ResponseBodySource
    init(_ source: any ResponseBodySource) { self.source = source }
    deinit { source.cancel() }
  }

  private let storage: Storage
  /// Returns the method and URL of the request, for errors of a stream that a caller reads.
  private var request: (@Sendable () -> String)?

  /// Makes a body in memory.
  public init(_ bytes: Data) { storage = .bytes(bytes) }

  /// Makes a streamed body, for transports.
  ///
  /// - Parameters:
  ///   - next: returns the next chunk, or `nil` at the regular end. It is called by one task at a time, and throws the
  ///     reason why the rest cannot be read.
  ///   - cancel: cancels the transfer and releases its connection. It may be called at any time, and more than once. It
  ///     is called when the last copy of the body is released. Default: does nothing.
  ///   - finalFacts: returns the facts of the whole transfer, or `nil` until it has ended. Default: always `nil`.
  public init(
    next: @escaping @Sendable () async throws(TransportError) -> Data?, cancel: @escaping @Sendable () -> Void = {},
    finalFacts: @escaping @Sendable () -> TransferFacts? = { nil }
  ) {
    self.init(source: ClosureSource(next: next, cancel: cancel, finalFacts: finalFacts))
  }

  /// Makes a streamed body.
  package init(source: any ResponseBodySource) { storage = .source(Owner(source)) }

  /// Makes the body of a response that switched protocols (101). The stream includes bytes received after the response.
  package init(upgraded stream: any ByteStream) { storage = .upgraded(stream) }

  /// The stream of a response that switched protocols. The caller owns it.
  package var upgraded: (any ByteStream)? { if case .upgraded(let stream) = storage { stream } else { nil } }

  /// The bytes, if they are in memory; `nil` for a stream.
  public var bytes: Data? { if case .bytes(let data) = storage { data } else { nil } }

  /// Returns whether nothing is left to collect: the body is in memory and has at most `limit` bytes, or it is a stream of
  /// another protocol.
  func isCollected(upTo limit: Int) -> Bool {
    switch storage {
    case .bytes(let data): data.count <= limit
    case .upgraded: true
    default: false
    }
  }

  /// The facts of the whole transfer, once a streamed body has ended. They are `nil` before that, and for a body in
  /// memory, whose facts the response has.
  public var finalFacts: TransferFacts? {
    if case .source(let owner) = storage { owner.source.finalFacts } else { nil }
  }

  /// Cancels the transfer. Its connection is released or closed.
  public func cancel() {
    if case .source(let owner) = storage { owner.source.cancel() }
  }

  /// Asks the server to send the rest of the body with another priority, in a PRIORITY_UPDATE frame (RFC 9218 §7.1).
  ///
  /// It has an effect over HTTP/2, on the body of an engine's response that has not ended, if the server has announced
  /// that it uses these priorities (SETTINGS_NO_RFC7540_PRIORITIES). Otherwise nothing is sent. It returns at once, and
  /// may be called from any thread.
  ///
  /// - Throws: stage `request`, code `invalid_option`, for an urgency outside 0…7.
  public func setPriority(_ priority: RequestPriority) throws(TransportError) {
    try priority.check()
    if case .source(let owner) = storage { owner.source.setPriority(priority) }
  }

  /// Ends the body with the reader's verdict, and cancels the rest of the transfer. Observers see that verdict, rather
  /// than a cancellation by the caller.
  ///
  /// - Parameter error: the reason why the body is not valid for its reader. Default `nil`: the body is complete.
  package func finish(failing error: TransportError? = nil) {
    guard case .source(let owner) = storage else { return }
    if let observed = owner.source as? ObservedBody { observed.finish(failing: error) } else { owner.source.cancel() }
  }

  /// Reports the regular end of a body that its reader has read to the end and found to be complete.
  package func conclude() {
    if case .source(let owner) = storage { (owner.source as? ObservedBody)?.finish(failing: nil) }
  }

  /// Hides a regular end of the body from observers until ``finish(failing:)`` or ``conclude()`` is called. For readers
  /// that know better than HTTP whether a body is complete.
  package func awaitVerdict() {
    if case .source(let owner) = storage { (owner.source as? ObservedBody)?.awaitVerdict() }
  }

  /// Returns the body with the request that its errors name.
  ///
  /// - Parameter request: returns the method and URL, without secrets. It is called if reading fails.
  func naming(_ request: @escaping @Sendable () -> String) -> Self {
    var result = self
    result.request = request
    return result
  }

  /// Returns an error of reading the body with the body's request.
  package func named(_ error: TransportError) -> TransportError { error.naming(request) }

  /// Reads the whole body into memory.
  ///
  /// - Parameter limit: the maximum number of bytes.
  /// - Throws: stage `limit`, code `body_too_large`, if the body is longer; the transfer is then cancelled. Else the
  ///   errors of reading.
  public func collect(upTo limit: Int) async throws(TransportError) -> Data {
    if let bytes, bytes.count <= limit { return bytes }
    var collected = Data()
    for try await chunk in self {
      if chunk.count > limit - collected.count {
        let error = TransportError(
          stage: .limit, code: .bodyTooLarge, message: "the body exceeds \(limit) byte\(limit == 1 ? "" : "s")",
          hint: "raise the limit, or stream the body", requestSent: true, facts: finalFacts)
        finish(failing: error)
        throw named(error)
      }
      collected.append(chunk)
    }
    return collected
  }

  /// An iterator that reads the body chunk by chunk.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var remaining: Data?
    private let owner: Owner?
    private let request: (@Sendable () -> String)?

    fileprivate init(_ storage: Storage, _ request: (@Sendable () -> String)?) {
      self.request = request
      switch storage {
      case .bytes(let data):
        remaining = data.isEmpty ? nil : data
        owner = nil
      case .source(let owner):
        remaining = nil
        self.owner = owner
      case .upgraded: (remaining, owner) = (nil, nil)
      }
    }

    /// Returns the next chunk, or `nil` at the end.
    ///
    /// - Throws: ``TransportError`` with the reason why the rest cannot be read, such as code `truncated_body` or stage
    ///   `cancelled`.
    public mutating func next() async throws(TransportError) -> Data? {
      guard let owner else { return remaining.take() }
      do throws(TransportError) {
        return try await owner.source.next()
      } catch {
        throw error.naming(request)
      }
    }

    /// Returns the next chunk, or `nil` at the end.
    ///
    /// - Throws: ``TransportError`` with the reason why the rest cannot be read, such as code `truncated_body` or stage
    ///   `cancelled`.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> Data? {
      guard let owner else { return remaining.take() }
      do throws(TransportError) {
        return try await owner.source.next()
      } catch {
        throw error.naming(request)
      }
    }
  }

  /// Returns an iterator. A stream has a single reader: a second iterator continues where the first stopped.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(storage, request) }
}

extension TransportError {
  /// Returns the error with a request, unless it has one.
  fileprivate func naming(_ request: (@Sendable () -> String)?) -> TransportError {
    guard let request, self.request == nil else { return self }
    var result = self
    result.request = request()
    return result
  }
}

/// A source that calls closures.
private final class ClosureSource: ResponseBodySource {
  private let read: @Sendable () async throws(TransportError) -> Data?
  private let end: @Sendable () -> Void
  private let facts: @Sendable () -> TransferFacts?

  init(
    next: @escaping @Sendable () async throws(TransportError) -> Data?, cancel: @escaping @Sendable () -> Void,
    finalFacts: @escaping @Sendable () -> TransferFacts?
  ) {
    (read, end, facts) = (next, cancel, finalFacts)
  }

  var finalFacts: TransferFacts? { facts() }
  func next() async throws(TransportError) -> Data? { try await read() }
  func cancel() { end() }
}
