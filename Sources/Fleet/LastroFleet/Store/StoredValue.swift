// SPDX-License-Identifier: Apache-2.0

/// The value of a key in a ``FleetStore``, and the store's time.
public struct StoredValue: Sendable, Hashable {
  /// The value; `nil` if the key has none, or if it has expired.
  public var bytes: [UInt8]?
  /// The time of the store's clock at which it had this value, since an origin that all instances share.
  public var time: Duration

  /// Creates a value, for stores of other kinds.
  public init(bytes: [UInt8]?, time: Duration) {
    self.bytes = bytes
    self.time = time
  }
}
