// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An open stream of bytes in both directions: TCP, TLS over anything, or a tunnel.
///
/// One reader and one writer at a time; both may be at work at once. A second reader (or writer) meanwhile fails with
/// code `operation_in_progress` and disturbs nothing. Any thread may call it. Dropping the last reference closes it.
///
/// Back-pressure: bytes that are not read stay with the sender, but for a bounded buffer; a write returns when the
/// layer below has taken every byte.
///
/// ```swift
/// try await stream.finishWriting()
/// while let piece = try await stream.read(upTo: 4096, within: .seconds(5)) { answer += piece }
/// ```
public protocol ByteStream: AnyObject, Sendable {
  /// What is known about the connection.
  var facts: StreamFacts { get }

  /// The next bytes, at least one and at most `maximum`; `nil` at the stream's clean end, and on every call after it.
  ///
  /// A clean end is TLS's close_notify alert (RFC 8446 §6.1), or FIN where there is no TLS. An end of TLS without that
  /// alert throws code `truncated_stream`: an attacker who can cut the wire can forge it.
  ///
  /// When `limit` passes, or the task is cancelled, nothing is lost and the stream stays open.
  ///
  /// - Parameters:
  ///   - maximum: most bytes wanted; positive, else code `invalid_option`.
  ///   - limit: longest wait; `nil` for none. Fails with code `idle_timeout`.
  /// - Throws: ``TransportError``; code `stream_closed` after ``close()``.
  func read(upTo maximum: Int, within limit: Duration?) async throws(TransportError) -> Data?

  /// Writes all of `data`, or fails. Empty data returns at once.
  ///
  /// A write that is given up midway (limit, cancellation) closes the stream, because an unknown part of it
  /// has arrived.
  ///
  /// - Throws: ``TransportError``; code `stream_closed` after ``close()`` or ``finishWriting(within:)``.
  func write(_ data: Data, within limit: Duration?) async throws(TransportError)

  /// Ends our direction: close_notify for TLS, FIN for TCP. Reading goes on. A second call tells how the
  /// first went, and does nothing more.
  ///
  /// - Throws: ``TransportError``; code `operation_in_progress` during a write, `idle_timeout` when `limit` passes,
  ///   `stream_closed` after ``close()``.
  func finishWriting(within limit: Duration?) async throws(TransportError)

  /// Closes both directions, at once and for good; a read or a write under way fails with code `stream_closed`.
  /// Idempotent.
  func close()
}

extension ByteStream {
  /// The next bytes, 64 KiB at most, however long it takes; `nil` at the clean end.
  ///
  /// - Throws: ``TransportError``, as ``read(upTo:within:)``.
  public func read() async throws(TransportError) -> Data? { try await read(upTo: 65_536, within: nil) }

  /// The next bytes, however long it takes; `nil` at the clean end.
  ///
  /// - Throws: ``TransportError``, as ``read(upTo:within:)``.
  public func read(upTo maximum: Int) async throws(TransportError) -> Data? {
    try await read(upTo: maximum, within: nil)
  }

  /// Writes all of `data`, however long it takes, or fails.
  ///
  /// - Throws: ``TransportError``, as ``write(_:within:)``.
  public func write(_ data: Data) async throws(TransportError) { try await write(data, within: nil) }

  /// Ends our direction, however long it takes.
  ///
  /// - Throws: ``TransportError``, as ``finishWriting(within:)``.
  public func finishWriting() async throws(TransportError) { try await finishWriting(within: nil) }
}

/// Datagrams to and from one address: UDP.
public protocol DatagramStream: AnyObject, Sendable {
  /// What is known about the connection.
  var facts: StreamFacts { get }

  /// The most bytes one datagram may carry; 65,507 for UDP over IPv4.
  var maximumDatagramBytes: Int { get }

  /// The next datagram, whole; it may be empty. One reader at a time, as for ``ByteStream``.
  ///
  /// - Throws: ``TransportError``; code `connect_failed` when the host answered that the port is closed (ICMP,
  ///   `ECONNREFUSED`), after which the stream can still be used; code `idle_timeout` when `limit` passes; code
  ///   `stream_closed`.
  func receive(within limit: Duration?) async throws(TransportError) -> Data

  /// Sends one datagram. It may be lost on the way without an error.
  ///
  /// - Throws: ``TransportError``; code `invalid_option` for one larger than ``maximumDatagramBytes``.
  func send(_ datagram: Data, within limit: Duration?) async throws(TransportError)

  /// Closes it, at once and for good. Idempotent.
  func close()
}

extension DatagramStream {
  /// The next datagram, however long it takes.
  ///
  /// - Throws: ``TransportError``, as ``receive(within:)``.
  public func receive() async throws(TransportError) -> Data { try await receive(within: nil) }

  /// Sends one datagram.
  ///
  /// - Throws: ``TransportError``, as ``send(_:within:)``.
  public func send(_ datagram: Data) async throws(TransportError) { try await send(datagram, within: nil) }
}
