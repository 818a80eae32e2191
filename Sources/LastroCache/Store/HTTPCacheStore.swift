// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Where an ``HTTPCache`` keeps answers: ``MemoryCacheStore``, or one of your own.
///
/// No call fails a fetch: what cannot be read is not there, and what cannot be written is not kept. Calls come from any
/// task, several at once, and must not block its thread.
///
/// A fetch waits for the store for a second in all, and at most half of what is left of its deadline; then it goes on
/// without, the task of the call is cancelled, and until the call has returned the store is asked nothing else.
public protocol HTTPCacheStore: Sendable {
  /// The key of all digests, 32 random bytes or more: as long as it stays, what was kept is found again.
  func digestKey() async -> [UInt8]

  /// What is kept under a key, in any order.
  func heads(for key: CacheKey) async -> [StoredHead]

  /// The body of an answer; `nil` where it is gone, or is not what was written.
  func body(of id: StoredHead.ID) async -> ResponseBody?

  /// Begins to keep an answer. It is found once it is committed, and takes the place of the one with the same key and
  /// the same ``StoredHead/selecting``.
  ///
  /// - Returns: `nil` where it is not kept.
  func begin(_ head: StoredHead, for key: CacheKey) async -> (any CacheWriting)?

  /// Puts a head in the place of the one with its name; the body stays.
  func freshen(_ head: StoredHead) async

  /// Removes an answer.
  ///
  /// - Returns: whether it is gone.
  @discardableResult
  func remove(_ id: StoredHead.ID) async -> Bool

  /// Removes all answers of a URL, for anyone and in every partition.
  ///
  /// - Returns: whether they are gone. Until they are, the cache gives none of them, and asks again.
  @discardableResult
  func removeAll(ofURL url: [UInt8]) async -> Bool

  /// Removes all answers.
  ///
  /// - Returns: whether they are gone. Until they are, the cache gives none of them, and asks again.
  @discardableResult
  func removeAll() async -> Bool
}

/// Writes the body of one answer to a store.
public protocol CacheWriting: AnyObject, Sendable {
  /// Takes a piece.
  ///
  /// - Returns: false where it is not kept: then the answer is abandoned.
  func write(_ piece: Data) async -> Bool

  /// The body is whole: from now on the answer is found.
  ///
  /// - Returns: whether it is kept.
  func commit() async -> Bool

  /// The body does not become whole. May be called at any time; after ``commit()`` it does nothing.
  func abandon()
}
