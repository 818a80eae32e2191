// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What feeds a streamed ``ResponseBody``; implemented by transports.
public protocol ResponseBodySource: AnyObject, Sendable {
  /// The next chunk, or `nil` at the proper end. Called by one task at a time.
  ///
  /// - Throws: ``TransportError``: why the rest does not come.
  func next() async throws(TransportError) -> Data?
  /// Gives the rest up: the transfer ends and its connection is released. May be called at any time, more than once.
  func cancel()
  /// Facts of the whole transfer; `nil` until it has ended.
  var finalFacts: TransferFacts? { get }
}

/// The body of a response: bytes in memory, or a stream with back-pressure that one reader consumes once.
///
/// No more is read from the network than the reader takes, up to a small buffer. Dropping the body, or leaving the
/// loop over it, cancels the transfer.
///
/// ```swift
/// let archive = try await github.stream(.archive(of: "apple/swift")).value
/// for try await chunk in archive { received += chunk.count }
/// ```
public struct ResponseBody: AsyncSequence, Sendable {
  /// A piece of the body, never empty.
  public typealias Element = Data
  /// Why the rest did not come.
  public typealias Failure = TransportError

  fileprivate enum Storage: Sendable {
    case bytes(Data)
    case source(Owner)
    case upgraded(any ByteStream)
  }

  /// Cancels the transfer when the last copy of the body, and of its iterators, is gone.
  fileprivate final class Owner: Sendable {
    let source: any ResponseBodySource
    init(_ source: any ResponseBodySource) { self.source = source }
    deinit { source.cancel() }
  }

  private let storage: Storage

  /// A body in memory.
  public init(_ bytes: Data) { storage = .bytes(bytes) }

  /// A streamed body.
  public init(source: any ResponseBodySource) { storage = .source(Owner(source)) }

  /// Of an answer that ended HTTP on its stream (101): the stream, with the bytes that came behind.
  package init(upgraded stream: any ByteStream) { storage = .upgraded(stream) }

  /// The stream of an answer that ended HTTP on it, which is the caller's from here on.
  package var upgraded: (any ByteStream)? { if case .upgraded(let stream) = storage { stream } else { nil } }

  /// The bytes when they are in memory; `nil` for a stream.
  public var bytes: Data? { if case .bytes(let data) = storage { data } else { nil } }

  /// Whether it is in memory, and no longer than that.
  func isCollected(upTo limit: Int) -> Bool {
    if case .bytes(let data) = storage { data.count <= limit } else { false }
  }

  /// Facts of the whole transfer, once a streamed body has ended; `nil` before that, and for a body in memory (whose
  /// facts the response has).
  public var finalFacts: TransferFacts? {
    if case .source(let owner) = storage { owner.source.finalFacts } else { nil }
  }

  /// Gives the rest up. The transfer ends and its connection is released or closed.
  public func cancel() {
    if case .source(let owner) = storage { owner.source.cancel() }
  }

  /// Ends the body as its reader judges it, and gives up what is left of the transfer. Observers see that end: a
  /// failure that the reader found, and not a caller who left.
  ///
  /// - Parameter error: the reason why the body is not what its reader needs. Default `nil`: the body is whole.
  package func finish(failing error: TransportError? = nil) {
    guard case .source(let owner) = storage else { return }
    if let observed = owner.source as? ObservedBody { observed.finish(failing: error) } else { owner.source.cancel() }
  }

  /// Reports the proper end of a body that its reader has read to the end and found to be whole.
  package func conclude() {
    if case .source(let owner) = storage { (owner.source as? ObservedBody)?.finish(failing: nil) }
  }

  /// Keeps a proper end of the body from observers until ``finish(failing:)`` or ``conclude()`` judges it: for readers
  /// that know better than HTTP whether a body is whole.
  package func awaitVerdict() {
    if case .source(let owner) = storage { (owner.source as? ObservedBody)?.awaitVerdict() }
  }

  /// Reads all of it into memory.
  ///
  /// - Parameter limit: most bytes to take.
  /// - Throws: stage `limit`, code `body_too_large`, when there are more; the transfer is then cancelled. Else what
  ///   reading throws.
  public func collect(upTo limit: Int) async throws(TransportError) -> Data {
    if let bytes, bytes.count <= limit { return bytes }
    var collected = Data()
    for try await chunk in self {
      if chunk.count > limit - collected.count {
        let error = TransportError(
          stage: .limit, code: .bodyTooLarge, message: "the body exceeds \(limit) byte\(limit == 1 ? "" : "s")",
          hint: "raise the limit, or stream the body", requestSent: true, facts: finalFacts)
        finish(failing: error)
        throw error
      }
      collected.append(chunk)
    }
    return collected
  }

  /// Reads the body chunk by chunk.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private var remaining: Data?
    private let owner: Owner?

    fileprivate init(_ storage: Storage) {
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

    /// The next chunk, or `nil` at the end.
    ///
    /// - Throws: ``TransportError``: why the rest does not come, such as code `truncated_body` or stage `cancelled`.
    public mutating func next() async throws(TransportError) -> Data? {
      if let owner { return try await owner.source.next() }
      defer { remaining = nil }
      return remaining
    }

    /// The next chunk, or `nil` at the end.
    ///
    /// - Throws: ``TransportError``: why the rest does not come, such as code `truncated_body` or stage `cancelled`.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(TransportError) -> Data? {
      if let owner { return try await owner.source.next() }
      defer { remaining = nil }
      return remaining
    }
  }

  /// Makes the iterator. A stream has one reader: a second one sees what the first left.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(storage) }
}
