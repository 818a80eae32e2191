// SPDX-License-Identifier: Apache-2.0

/// A store that the instances of a service share: values by key, which are changed one at a time and expire.
///
/// ``RedisStore`` and ``FileStore`` are stores. Write another to keep the state elsewhere, for example in a database.
///
/// Both operations may be called from any thread, and at the same time. They must end in bounded time, and soon after
/// their task is cancelled: callers wait for them.
public protocol FleetStore: Sendable {
  /// Returns the current value of a key.
  ///
  /// - Parameter key: 1 to 200 characters of visible ASCII.
  /// - Throws: ``FleetStoreError``.
  func read(_ key: String) async throws(FleetStoreError) -> StoredValue

  /// Changes the value of a key if it is still the expected one, in one step for all instances.
  ///
  /// If the key already has the new value, that counts as success, and its expiry is renewed. An operation can
  /// therefore be repeated after its response was lost. Callers use values that are unique, for example because of a
  /// random part. A store that repeats an operation itself must throw if it then finds a third value: the change may
  /// have been made and replaced by another one.
  ///
  /// - Parameters:
  ///   - key: 1 to 200 characters of visible ASCII.
  ///   - new: the new value.
  ///   - old: the expected current value; `nil` if the key must have none.
  ///   - lifetime: the time after which the key has no value, counted by the store from now on; positive.
  /// - Returns: the value of the key afterwards: `new` if the operation succeeded, and otherwise the unexpected one.
  /// - Throws: ``FleetStoreError``. The value may have been changed or not.
  func set(
    _ key: String, to new: [UInt8], ifCurrently old: [UInt8]?, expiresAfter lifetime: Duration
  ) async throws(FleetStoreError) -> StoredValue
}
