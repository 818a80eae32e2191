// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro

/// The storage of an ``HTTPCache``: ``MemoryCacheStore``, or your own implementation.
///
/// No call can fail a fetch: a response that cannot be read counts as missing, and one that cannot be written is not
/// stored. Calls come from any task, several at once, and must not block their thread.
///
/// A fetch waits for the store for one second in total, and at most half of the time left until its deadline. Then the
/// fetch proceeds without the store, the task of the call is cancelled, and the store gets no other call until this one
/// has returned.
package protocol HTTPCacheStore: Sendable {
  /// Returns the key of all digests: 32 random bytes or more. Stored responses are found only as long as the key is the
  /// same.
  func digestKey() async -> [UInt8]

  /// Returns the responses stored under a key, in any order.
  func heads(for key: CacheKey) async -> [StoredHead]

  /// Returns the body of a response; `nil` if it is gone, or differs from the body that was written.
  func body(of id: StoredHead.ID) async -> ResponseBody?

  /// Begins to store a response. It can be found once it is committed, and replaces the response with the same key and
  /// the same ``StoredHead/selecting``.
  ///
  /// - Returns: `nil` if the response is not stored.
  func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)?

  /// Replaces the head that has the same id; the body stays.
  func freshen(_ head: StoredHead) async

  /// Removes a response.
  ///
  /// - Returns: whether the response is gone.
  @discardableResult
  func remove(_ id: StoredHead.ID) async -> Bool

  /// Removes all responses of a URL, in every partition.
  ///
  /// - Returns: whether they are gone. Until they are, the cache serves none of them, and calls this method again.
  @discardableResult
  func removeAll(ofURL url: [UInt8]) async -> Bool

  /// Removes all responses.
  ///
  /// - Returns: whether they are gone. Until they are, the cache serves none of them, and calls this method again.
  @discardableResult
  func removeAll() async -> Bool
}

/// A write of one response's body to a store.
package protocol CacheWriting: AnyObject, Sendable {
  /// Writes a piece of the body.
  ///
  /// - Returns: false if the piece was not stored: the response is abandoned then.
  func write(_ piece: Data) async -> Bool

  /// Completes the body. The response can be found from now on.
  ///
  /// - Returns: whether the response is stored.
  func commit() async -> Bool

  /// Discards an incomplete response. May be called at any time; does nothing after ``commit()``.
  func abandon()
}
