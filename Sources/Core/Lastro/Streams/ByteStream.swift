// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// An open bidirectional stream of bytes: TCP, TLS over any transport, or a tunnel.
///
/// A stream supports one reader and one writer at a time, which may work concurrently. A second reader or writer fails
/// with code `operation_in_progress`, without affecting the first. Any thread may use a stream. It is closed when its
/// last reference is released.
///
/// Back-pressure: unread bytes stay with the sender, except for a bounded buffer. A write returns when the layer below
/// has accepted all bytes.
///
/// ```swift
/// try await stream.finishWriting()
/// while let piece = try await stream.read(upTo: 4096, within: .seconds(5)) { answer += piece }
/// ```
public protocol ByteStream: AnyObject, Sendable {
  /// The facts about the connection.
  var facts: StreamFacts { get }

  /// Returns the next bytes, at least one and at most `maximum`. Returns `nil` at the stream's clean end, and on every
  /// later call.
  ///
  /// A clean end is TLS's close_notify alert (RFC 8446 §6.1), or FIN without TLS. If a TLS stream ends without that
  /// alert, code `truncated_stream` is thrown, because an attacker who can cut the connection can forge such an end.
  ///
  /// If `limit` passes or the task is cancelled, no data is lost and the stream stays open.
  ///
  /// - Parameters:
  ///   - maximum: the maximum number of bytes to return; it must be positive, otherwise code `invalid_option` is
  ///     thrown.
  ///   - limit: the maximum time to wait; `nil` for no limit. When it passes, code `idle_timeout` is thrown.
  /// - Throws: ``TransportError``; code `stream_closed` after ``close()``.
  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data?

  /// Writes all of `data`, or fails. Empty data returns at once.
  ///
  /// If a write is interrupted by the limit or a cancellation, the stream is closed, because an unknown part of the
  /// data may already have been sent.
  ///
  /// - Throws: ``TransportError``; code `stream_closed` after ``close()`` or ``finishWriting(within:)``.
  func write(_ data: Data, within limit: Duration?) async throws(TransportError)

  /// Ends the outgoing direction: sends close_notify for TLS, or FIN for TCP. Reading is still possible. A second call
  /// only reports the result of the first one.
  ///
  /// - Throws: ``TransportError``; code `operation_in_progress` during a write, `idle_timeout` when `limit` passes,
  ///   `stream_closed` after ``close()``.
  func finishWriting(within limit: Duration?) async throws(TransportError)

  /// Closes both directions at once and permanently. A read or write in progress fails with code `stream_closed`.
  /// Idempotent.
  func close()
}

extension ByteStream {
  /// Returns the next bytes without a time limit. Returns `nil` at the clean end.
  ///
  /// - Parameter maximum: the maximum number of bytes to return. Default 64 KiB.
  /// - Throws: ``TransportError``, like ``read(upTo:within:)``.
  public func read(upTo maximum: Int = 65_536) async throws(TransportError) -> Data? {
    try await read(upTo: maximum, within: nil)
  }

  /// Writes all of `data` without a time limit, or fails.
  ///
  /// - Throws: ``TransportError``, like ``write(_:within:)``.
  public func write(_ data: Data) async throws(TransportError) { try await write(data, within: nil) }

  /// Ends the outgoing direction without a time limit.
  ///
  /// - Throws: ``TransportError``, like ``finishWriting(within:)``.
  public func finishWriting() async throws(TransportError) { try await finishWriting(within: nil) }
}
