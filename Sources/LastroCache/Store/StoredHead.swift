// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What is kept of an answer, but for its body.
public struct StoredHead: Sendable, Hashable {
  /// Names an answer within its store.
  public struct ID: Sendable, Hashable {
    /// A number that the store chose.
    public let rawValue: Int64

    /// Wraps a number.
    public init(rawValue: Int64) { self.rawValue = rawValue }
  }

  /// Its name, which the store gives it when it is whole. Default 0.
  public var id = ID(rawValue: 0)
  /// Status and fields, without those that were for the connection.
  public var head: HTTPResponse
  /// When its request was handed over, since 1970-01-01 00:00:00 UTC.
  public var requested: Duration
  /// When its head had come.
  public var received: Duration
  /// Stands for what its request had in the fields that `Vary` names: a digest with the key of the store.
  public var selecting: [UInt8]
  /// Bytes of its body, which the store counts. Default 0.
  public var length: Int64 = 0
  /// Whether the body is no longer in the content coding that the fields name.
  public var isDecoded: Bool
  /// Whether its request told who asked, by credentials or `RequestOptions.principal`, and it is not for anyone as
  /// `public` answers are. Default false.
  public var isCredentialed: Bool

  /// Makes a head.
  public init(
    head: HTTPResponse, requested: Duration, received: Duration, selecting: [UInt8] = [], isDecoded: Bool = false,
    isCredentialed: Bool = false
  ) {
    self.head = head
    self.requested = requested
    self.received = received
    self.selecting = selecting
    self.isDecoded = isDecoded
    self.isCredentialed = isCredentialed
  }
}
