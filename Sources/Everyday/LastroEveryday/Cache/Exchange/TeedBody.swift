// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSupport

/// A body that is stored while it is read. A failure to store it does not delay the reader.
final class TeedBody: ResponseBodySource {
  private let body: ResponseBody
  private let keeping: BodyKeeping
  private let maximumBytes: Int
  private let visit: StoreVisit
  private let state = Lock(State())

  private struct State {
    /// The write in progress; `nil` before it begins, and after it is committed or abandoned.
    var writing: (any CacheWriting)?
    var isOver = false
    var count = 0
  }

  init(_ body: ResponseBody, _ keeping: BodyKeeping, maximumBytes: Int, _ visit: StoreVisit) {
    self.body = body
    self.keeping = keeping
    self.maximumBytes = maximumBytes
    self.visit = visit
  }

  /// Starts to store the body.
  ///
  /// - Returns: false if the body is not being stored: then return the original body.
  func startStoring() async -> Bool {
    let (keeping, state) = (keeping, state)
    let isBegun = await visit.ask { store in
      guard keeping.reading.isTrue, let writing = await store.begin(keeping.head, for: keeping.key) else {
        return false
      }
      let isWanted = state.withLock { state in
        if !state.isOver { state.writing = writing }
        return !state.isOver
      }
      // The body was read or cancelled before the store responded.
      if !isWanted { writing.abandon() }
      return isWanted
    }
    if isBegun == true { return true }
    takeWriting()?.abandon()
    return false
  }

  var finalFacts: TransferFacts? { body.finalFacts }

  func setPriority(_ priority: RequestPriority) { try? body.setPriority(priority) }

  func next() async throws(TransportError) -> Data? {
    do throws(TransportError) {
      var iterator = body.makeAsyncIterator()
      guard let piece = try await iterator.next() else {
        if let writing = takeWriting() {
          let keeping = keeping
          await visit.renewed.ask { _ = await keeping.commit(writing, in: $0) }
        }
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

  private func takeWriting() -> (any CacheWriting)? {
    state.withLock { state in
      state.isOver = true
      return state.writing.take()
    }
  }

  private func keep(_ piece: Data) async {
    let writing = state.withLock { state in
      state.count += piece.count
      return state.count <= maximumBytes ? state.writing : nil
    }
    guard let writing, await visit.renewed.ask({ _ in await writing.write(piece) }) == true else {
      takeWriting()?.abandon()
      return
    }
  }
}
