// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro

/// A transform that a transport applies to the bytes of one connection, in both directions.
///
/// Each connection gets its own transform, so it may keep state. `outgoing` and `incoming` are never called
/// concurrently.
public protocol StreamTransform: Sendable {
  /// Returns the bytes that are sent first on a new connection. Default: none.
  ///
  /// - Throws: the reason why the connection cannot begin; the connection fails with that error.
  mutating func opening() throws -> Data

  /// Returns the wire format of the application's bytes.
  ///
  /// - Throws: the reason why the bytes cannot be sent; the connection fails with that error.
  mutating func outgoing(_ data: Data) throws -> Data

  /// Returns the application's bytes for bytes from the wire, which arrive in pieces of any length. The result may be
  /// empty if more bytes are needed.
  ///
  /// - Throws: the reason why the bytes are invalid; the connection fails with that error.
  mutating func incoming(_ data: Data) throws -> Data

  /// Returns the remaining bytes for the application when the wire has ended. Default: none. Throw an error if the wire
  /// ended within a unit of the protocol.
  ///
  /// - Throws: an error if the wire ended within a unit of the protocol; the connection fails with that error.
  mutating func ending() throws -> Data
}

extension StreamTransform {
  /// The default returns no bytes: the transport sends nothing first.
  public mutating func opening() throws -> Data { Data() }
  /// The default returns no bytes: nothing remains at the end.
  public mutating func ending() throws -> Data { Data() }

  /// Returns a stream whose bytes this transform changes in both directions, for custom dialers.
  /// ``NetworkConnectionFactory`` builds whole transports.
  public func over(_ stream: any ByteStream) -> any ByteStream { TransformedStream(stream, self) }
}
