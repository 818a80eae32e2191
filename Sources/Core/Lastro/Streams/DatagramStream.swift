// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// A stream of datagrams to and from one address: UDP.
public protocol DatagramStream: AnyObject, Sendable {
  /// The facts about the connection.
  var facts: StreamFacts { get }

  /// The maximum number of bytes in a datagram; 65,507 for UDP over IPv4.
  var maximumDatagramBytes: Int { get }

  /// Returns the next complete datagram, which may be empty. As with ``ByteStream``, only one reader is allowed at a
  /// time.
  ///
  /// - Throws: ``TransportError``; code `connect_failed` if the host reports that the port is closed (ICMP,
  ///   `ECONNREFUSED`), after which the stream is still usable; code `idle_timeout` when `limit` passes; code
  ///   `stream_closed`.
  func receive(within limit: Duration?) async throws(TransportError) -> Data

  /// Sends a datagram. It may be lost on the network without an error.
  ///
  /// - Throws: ``TransportError``; code `invalid_option` for a datagram larger than ``maximumDatagramBytes``.
  func send(_ datagram: Data, within limit: Duration?) async throws(TransportError)

  /// Closes the stream at once and permanently. Idempotent.
  func close()
}

extension DatagramStream {
  /// Returns the next datagram without a time limit.
  ///
  /// - Throws: ``TransportError``, like ``receive(within:)``.
  public func receive() async throws(TransportError) -> Data { try await receive(within: nil) }

  /// Sends a datagram without a time limit.
  ///
  /// - Throws: ``TransportError``, like ``send(_:within:)``.
  public func send(_ datagram: Data) async throws(TransportError) { try await send(datagram, within: nil) }
}
