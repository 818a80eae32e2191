// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A body on its path to its reader, which is kept at the same time. What cannot be kept does not hold the reader up.
final class TeedBody: ResponseBodySource {
  private let body: ResponseBody
  private let maximumBytes: Int
  private let store: any HTTPCacheStore
  /// The answer whose place it takes.
  private let old: StoredHead.ID?
  private let state: Lock<State>

  private struct State {
    /// `nil` once it is whole or given up.
    var writing: (any CacheWriting)?
    var count = 0
  }

  init(
    _ body: ResponseBody, into writing: any CacheWriting, maximumBytes: Int, store: any HTTPCacheStore,
    replacing old: StoredHead.ID?
  ) {
    self.body = body
    self.maximumBytes = maximumBytes
    self.store = store
    self.old = old
    state = Lock(State(writing: writing))
  }

  var finalFacts: TransferFacts? { body.finalFacts }

  func next() async throws(TransportError) -> Data? {
    do throws(TransportError) {
      var iterator = body.makeAsyncIterator()
      guard let piece = try await iterator.next() else {
        await commit()
        return nil
      }
      await keep(piece)
      return piece
    } catch {
      takeWriting()?.abandon()
      throw error
    }
  }

  func cancel() {
    takeWriting()?.abandon()
    body.cancel()
  }

  private func takeWriting() -> (any CacheWriting)? { state.withLock { $0.writing.take() } }

  private func keep(_ piece: Data) async {
    let writing = state.withLock { state in
      state.count += piece.count
      return state.writing
    }
    guard let writing else { return }
    let isWithin = state.withLock { $0.count <= maximumBytes }
    guard isWithin, await writing.write(piece) else {
      takeWriting()?.abandon()
      return
    }
  }

  private func commit() async {
    if let writing = takeWriting(), await writing.commit(), let old { await store.remove(old) }
  }
}
