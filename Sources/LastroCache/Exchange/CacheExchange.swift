// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One request on its path through the cache.
struct CacheExchange: Sendable {
  let request: TransferRequest
  let asked: CacheRequest
  let mode: CacheMode
  let keys: CacheKeys
  /// When it began, by the monotonic clock.
  let start: Duration
  let transport: CachingTransport
  let visit: StoreVisit

  var cache: HTTPCache { transport.cache }
  var time: TimeSource { transport.time }
  var rules: CacheRules { transport.cache.policy.rules }

  /// What is stored for the request, and what follows from it.
  struct Situation: Sendable {
    var stored: [StoredHead] = []
    /// How many of them are for those alone who ask; behind them stand those for anyone.
    var ownCount = 0
    var entries: [CacheEntry] = []
    var matching: [Int] = []
    var decision: CacheDecision

    /// The one that would serve, fresh or not.
    var chosen: Int? { CacheDecision.newest(of: matching, entries) }

    /// The server is asked as if nothing was stored.
    func asking(_ reason: CacheDecision.ForwardReason) -> Situation {
      var result = self
      result.decision = .forward(reason)
      return result
    }
  }

  func run() async throws(TransportError) -> TransferResponse {
    let landings = cache.flights.landings
    let (answer, situation) = try await locally()
    if let answer { return answer }
    return try await asking(situation, landings)
  }

  /// The answer where the server need not be asked, and else what is stored.
  func locally() async throws(TransportError) -> (TransferResponse?, Situation) {
    var situation = Situation(decision: .forward(.uriMiss))
    // What is gone, or poisoned, by the time that it is read is not asked for again; others come meanwhile.
    for _ in 0..<4 {
      situation = try await look()
      switch situation.decision {
      case .serve(let index, let serving):
        if let answer = try await served(situation.stored[index], serving, CacheReport(.hit)) {
          return (answer, situation)
        }
        await remove(situation.stored[index].id)
      case .serveAndRevalidate(let index, let serving):
        if let answer = try await served(situation.stored[index], serving, CacheReport(.staleServed)) {
          revalidate(index, situation)
          return (answer, situation)
        }
        await remove(situation.stored[index].id)
      case .unavailable: return (transport.unavailable, situation)
      case .validate, .forward: return (nil, situation)
      }
    }
    return asked.mayForward ? (nil, situation.asking(.stale)) : (transport.unavailable, situation)
  }

  func remove(_ id: StoredHead.ID) async { await visit.ask { await $0.remove(id) } }

  /// Throws where the task was cancelled, for which a wait was given up.
  func checkCancelled(requestSent: Bool = false) throws(TransportError) {
    if Task.isCancelled { throw .cancelled(requestSent: requestSent) }
  }

  private func look() async throws(TransportError) -> Situation {
    guard let (own, common) = await heads() else {
      try checkCancelled()
      return Situation(decision: asked.mayForward ? .forward(.bypass) : .unavailable)
    }
    let stored = own + common
    let entries = stored.map(\.entry)
    let matching = stored.indices.filter { index in
      let rule = VaryRule(entries[index].fields)
      guard !rule.matchesNone, entries[index].isCoded(for: asked),
        keys.searchRule == nil || NoVarySearch(entries[index].fields) == keys.searchRule
      else { return false }
      let selection = rule.selection(from: asked.fields)
      return (try? keys.keyring.digest(ofSelection: selection)) == stored[index].selecting
    }
    let decision = CacheDecision.decide(
      asked, entries: entries, matching: matching, now: time.sinceEpoch(), rules: rules)
    return Situation(
      stored: stored, ownCount: own.count, entries: entries, matching: matching, decision: decision)
  }

  /// What is stored for those who ask alone, and for anyone; `nil` where the store does not tell.
  private func heads() async -> (own: [StoredHead], common: [StoredHead])? {
    let (keys, access) = (keys, cache.access)
    return await visit.ask { store in
      // What could not be removed must not answer.
      guard await access.clear(keys.own.url) else { return ([], []) }
      let own = await store.heads(for: keys.own)
      // What was answered to one without credentials is not for one with them, unless it is for all.
      let common = keys.own == keys.common ? [] : await store.heads(for: keys.common).filter(\.entry.isForAnyone)
      return access.isCondemned(keys.own.url) ? ([], []) : (own, common)
    }
  }
}
