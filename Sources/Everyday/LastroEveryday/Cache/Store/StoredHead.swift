// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// A stored response without its body.
package struct StoredHead: Sendable, Hashable {
  /// The id of a response within its store.
  package struct ID: Sendable, Hashable {
    /// The number that the store chose.
    package let rawValue: Int64

    /// Creates an id.
    package init(rawValue: Int64) { self.rawValue = rawValue }
  }

  /// The id, which the store assigns when the response is complete. Default 0.
  package var id = ID(rawValue: 0)
  /// The status and the fields, without hop-by-hop fields.
  package var head: HTTPResponse
  /// The time at which the request was sent, since 1970-01-01 00:00:00 UTC.
  package var requested: Duration
  /// The time at which the head was received.
  package var received: Duration
  /// A digest, made with the store's key, of the request's values of the fields that `Vary` names.
  package var selecting: [UInt8]
  /// The length of the body in bytes, which the store sets. Default 0.
  package var length: Int64 = 0
  /// Whether the body is no longer in the content coding that the fields name.
  package var isDecoded: Bool
  /// Whether the request identified its sender, by credentials or `RequestOptions.principal`, and the response is not
  /// for anyone, as a `public` one is. Default false.
  package var isCredentialed: Bool
  /// The state of the other processes' responses when the response was requested, as a ``SharedHTTPCacheStore`` returned
  /// it. Default empty: unknown.
  package var mark: [UInt8] = []

  /// Creates a head.
  package init(
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
