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

  var cache: HTTPCache { transport.cache }
  var store: any HTTPCacheStore { transport.cache.store }
  var time: TimeSource { transport.time }
  var rules: CacheRules { transport.cache.policy.rules }

  /// What is stored for the request, and what follows from it.
  struct Situation: Sendable {
    var stored: [StoredHead] = []
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
    guard asked.isReading else { return try await change() }
    guard mode != .noStore, request.body.length == 0 else {
      var report = CacheReport(.bypassed)
      report.forwardReason = .bypass
      return noted(try await transport.base.execute(request), report)
    }
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
      situation = await look()
      switch situation.decision {
      case .serve(let index, let serving):
        if let answer = try await served(situation.stored[index], serving, CacheReport(.hit)) {
          return (answer, situation)
        }
        await store.remove(situation.stored[index].id)
      case .serveAndRevalidate(let index, let serving):
        if let answer = try await served(situation.stored[index], serving, CacheReport(.staleServed)) {
          revalidate(index, situation)
          return (answer, situation)
        }
        await store.remove(situation.stored[index].id)
      case .unavailable:
        return (
          noted(
            TransferResponse(head: HTTPResponse(status: .gatewayTimeout), body: ResponseBody(Data())),
            CacheReport(.bypassed)), situation
        )
      case .validate, .forward: return (nil, situation)
      }
    }
    return (nil, situation.asking(.stale))
  }

  private func look() async -> Situation {
    var stored = await store.heads(for: keys.own)
    if keys.own != keys.common {
      // What was answered to one without credentials is not for one with them, unless it is for all.
      stored += await store.heads(for: keys.common).filter { stored in
        let fields = CacheFields(stored.head.headerFields)
        return CacheControl(fields).isPublic && !fields.contains("set-cookie")
      }
    }
    let entries = stored.map(\.entry)
    let matching = stored.indices.filter { index in
      let rule = VaryRule(entries[index].fields)
      guard !rule.matchesNone else { return false }
      let selection = rule.selection(from: asked.fields)
      return (try? keys.keyring.digest(ofSelection: selection)) == stored[index].selecting
    }
    let decision = CacheDecision.decide(
      asked, entries: entries, matching: matching, now: time.sinceEpoch(), rules: rules)
    return Situation(stored: stored, entries: entries, matching: matching, decision: decision)
  }

  /// A request that may change what is stored.
  private func change() async throws(TransportError) -> TransferResponse {
    let response = try await transport.base.execute(request)
    var report = CacheReport(.bypassed)
    report.forwardReason = .method
    report.forwardStatus = response.head.status.code
    if CacheInvalidation.isCaused(byMethod: asked.method, status: response.head.status.code) {
      cache.changes.note(keys.own.url)
      await store.removeAll(ofURL: keys.own.url)
      if let base = try? RequestTarget(request.url) {
        for reference in CacheInvalidation.references(CacheFields(response.head.headerFields)) {
          guard let target = try? RedirectTarget(reference, base: base, fragment: nil).target,
            target.scheme == base.scheme, target.authority == base.authority
          else { continue }
          await cache.remove(target)
        }
      }
    }
    return noted(response, report)
  }
}

extension TransferRequest {
  var url: String { "\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")" }
}
