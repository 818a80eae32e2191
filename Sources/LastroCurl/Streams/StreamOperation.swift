// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Something asked of a stream, answered once: by the loop, or by the task that gives it up. The one that comes second learns
/// that, so that the loop keeps bytes that no task took.
typealias StreamOperation<Value: Sendable> = OneAnswer<Result<Value, TransportError>>

/// Why a stream is over, as both sides see it. The first reason stays.
final class StreamEnd: Sendable {
  private let state = Lock(TransportError?.none)

  var error: TransportError? { state.withLock { $0 } }

  func set(_ error: TransportError) {
    state.withLock { if $0 == nil { $0 = error } }
  }
}

/// A stream that somebody wants.
final class StreamDial: Sendable {
  enum Kind: Sendable { case bytes, datagrams }

  let id = StreamID.next()
  let kind: Kind
  let request: DialRequest
  /// Who is dialed, and whom its certificate has to be for.
  let host: HostName
  let target: TrustTarget
  /// Wire form of RFC 7301 §3.1.
  let protocols: [UInt8]
  let options: SharedOptions
  let usesDefaultOptions: Bool
  let expiresAt: Int64
  /// Held, so that the loop lives as long as its streams.
  let loop: EventLoop
  let bytes = StreamOperation<CurlStream>()
  let datagrams = StreamOperation<CurlDatagramStream>()

  init(
    _ kind: Kind, _ request: DialRequest, host: HostName, target: TrustTarget, protocols: [UInt8],
    options: SharedOptions, usesDefaultOptions: Bool, loop: EventLoop
  ) {
    self.kind = kind
    self.request = request
    self.host = host
    self.target = target
    self.protocols = protocols
    self.options = options
    self.usesDefaultOptions = usesDefaultOptions
    self.loop = loop
    expiresAt = request.connectTimeout.map { monotonicNow().adding($0) } ?? .max
  }

  var isSettled: Bool {
    switch kind {
    case .bytes: bytes.isGiven
    case .datagrams: datagrams.isGiven
    }
  }

  @discardableResult
  func fail(_ error: TransportError) -> Bool {
    switch kind {
    case .bytes: bytes.offer(.failure(error))
    case .datagrams: datagrams.offer(.failure(error))
    }
  }
}

/// A read that waits.
final class StreamRead: Sendable {
  let id: UInt64
  let maximum: Int
  let expiresAt: Int64
  let answer = StreamOperation<Data?>()

  init(_ id: UInt64, maximum: Int, expiresAt: Int64) {
    self.id = id
    self.maximum = maximum
    self.expiresAt = expiresAt
  }
}

/// Bytes that wait to be written, or the end of our direction.
final class StreamWrite: Sendable {
  let id: UInt64
  /// `nil`: no more will come.
  let data: Data?
  let expiresAt: Int64
  let answer = StreamOperation<Void>()

  init(_ id: UInt64, _ data: Data?, expiresAt: Int64) {
    self.id = id
    self.data = data
    self.expiresAt = expiresAt
  }
}

/// What other threads ask of a loop's streams.
enum StreamCommand: Sendable {
  case dial(StreamDial)
  case resolved(StreamDial, Result<[String], TransportError>)
  case read(StreamRead)
  case write(StreamWrite)
  /// Close it, also while it is dialed.
  case close(UInt64)
}
