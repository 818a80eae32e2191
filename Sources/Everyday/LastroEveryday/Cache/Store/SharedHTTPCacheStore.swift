// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A store whose responses other processes store and remove, too.
///
/// A cache reads the responses at hand with the methods of ``HTTPCacheStore``. Only if none of them may be served, it
/// calls ``update(_:)`` and reads them again. A fetch waits for the methods below as long as they take.
package protocol SharedHTTPCacheStore: HTTPCacheStore {
  /// Takes over what other processes have stored under the keys of a request, and removes what they have removed.
  ///
  /// - Parameter keys: the keys, all of the same URL.
  /// - Returns: the state of the other processes' responses, for ``StoredHead/mark``; empty if it is unknown. A response
  ///   without a mark stays in this process.
  func update(_ keys: [CacheKey]) async -> [UInt8]

  /// Announces to other processes that this one is about to ask the server, or waits for another that has announced it.
  ///
  /// - Parameters:
  ///   - key: the key for the sender of the request.
  ///   - variant: a text that is the same for equal requests with this key.
  ///   - mark: the mark that ``update(_:)`` has returned, not empty.
  ///   - limit: the longest wait; `nil` for the store's own.
  /// - Returns: the outcome, and the time waited for another process; zero if there was none to wait for.
  func claim(
    _ key: CacheKey, _ variant: String, after mark: [UInt8], within limit: Duration?
  ) async -> (claim: CacheClaim, waited: Duration)

  /// Removes all responses of a URL, or of all URLs if it is `nil`, for all processes, and returns at once. It is called
  /// if a fetch could not wait for their removal.
  func removeLater(_ url: [UInt8]?)

  /// Returns the notes about the store since the previous call, for the next request to report them.
  func takeNotes() -> [TransferFacts.Note]

  /// Returns a phrase about the sharing, for `explain`.
  func words() -> String
}

/// The outcome of announcing a request to other processes.
package enum CacheClaim: Sendable {
  /// This process asks the server for the others, and then calls `end` with whether the response is in the store and
  /// may answer them.
  case granted(end: @Sendable (_ isStored: Bool) -> Void)
  /// Another process has stored a response meanwhile.
  case stored
  /// The request is to be sent without regard to others: one of them took too long, or cannot share its response.
  case refused
}
