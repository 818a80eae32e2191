// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroWire

/// A request and its passage through the cache.
struct CacheExchange: Sendable {
  let request: TransferRequest
  let asked: CacheRequest
  let mode: CacheMode
  let keys: CacheKeys
  /// The start of the request, by the monotonic clock.
  let start: Duration
  let transport: CachingTransport
  let visit: StoreVisit

  var cache: HTTPCache { transport.cache }
  var time: TimeSource { transport.time }
  var rules: CacheRules { transport.cache.policy.rules }

  /// The responses stored for a request, and the resulting decision.
  struct Situation: Sendable {
    var stored: [StoredHead] = []
    /// The number of stored responses for this sender alone. They come first; the responses for anyone follow.
    var ownCount = 0
    var entries: [CacheEntry] = []
    var matching: [Int] = []
    var decision: CacheDecision

    /// The stored response that would be served, fresh or not.
    var chosen: Int? { CacheDecision.newest(of: matching, entries) }

    /// Returns the situation with the decision to forward the request as if nothing were stored.
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

  /// Returns the response if the server need not be asked, and the situation in any case.
  func locally() async throws(TransportError) -> (TransferResponse?, Situation) {
    var situation = Situation(decision: .forward(.uriMiss))
    // An entry whose body is missing or corrupt is removed, and the lookup is repeated a few times, because new entries
    // may arrive meanwhile.
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

  /// Throws a cancellation error if the task is cancelled, which ends a wait early.
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

  /// Returns the heads stored for this sender alone, and for anyone; `nil` if the store does not respond.
  private func heads() async -> (own: [StoredHead], common: [StoredHead])? {
    let (keys, access) = (keys, cache.access)
    return await visit.ask { store in
      // Entries that could not be removed must not be served.
      guard await access.clear(keys.own.url) else { return ([], []) }
      let own = await store.heads(for: keys.own)
      // A response to a request without credentials may be served to one with credentials only if it is for anyone.
      let common = keys.own == keys.common ? [] : await store.heads(for: keys.common).filter(\.entry.isForAnyone)
      return access.isCondemned(keys.own.url) ? ([], []) : (own, common)
    }
  }
}
