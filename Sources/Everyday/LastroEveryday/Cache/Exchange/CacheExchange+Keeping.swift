// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

extension CacheExchange {
  /// Stores the server's response if that is allowed: immediately, or while its body is read. Returns the response.
  ///
  /// - Parameter reading: knows whether the URL changed since the request was sent.
  func kept(
    _ response: TransferResponse, _ situation: Situation, _ times: Times, _ reading: ChangeCounts.Reading
  ) async -> Asked {
    var report = CacheReport(.missed)
    report.forwardReason = situation.forwardReason
    report.forwardStatus = response.head.status.code
    var response = response
    let (head, key, mayStore) = head(of: response, times)
    let isByRule = hasKnownRule(response, mayStore: mayStore)
    if mayStore, isByRule {
      let keeping = BodyKeeping(
        head: head, key: key, replaced: situation.chosen.map { situation.stored[$0].id }, reading: reading,
        access: cache.access)
      let maximum = cache.policy.maximumEntryBytes
      if let bytes = response.body.bytes {
        if bytes.count <= maximum { report.isStored = await visit.ask { await keeping.keep(bytes, in: $0) } ?? false }
      } else {
        let tee = TeedBody(response.body, keeping, maximumBytes: maximum, visit)
        if await tee.begin() {
          report.isStored = true
          response.body = ResponseBody(source: tee)
        }
      }
    }
    // Without a known rule, only requests with equal URLs wait for one another.
    let isShareable = mayStore && (isByRule || keys.searchRule == nil) && mayServeOthers(head.entry)
    return Asked(response: noted(response, report), isShareable: isShareable)
  }

  /// Whether a new response may also answer the requests that waited for it. A response that must be validated before
  /// reuse may not: collapsing requests is allowed only if the response may be reused (RFC 9111 §4).
  func mayServeOthers(_ entry: CacheEntry) -> Bool {
    var others = asked
    // This response is the validation that such a request wants.
    if others.wish == .revalidate { others.wish = .none }
    switch CacheDecision.decide(others, entries: [entry], matching: [0], now: time.sinceEpoch(), rules: rules) {
    case .serve, .serveAndRevalidate: return true
    case .validate, .forward, .unavailable: return false
    }
  }

  /// Whether the response's `No-Vary-Search` rule is the rule by which the request's key was made. If not, and the new
  /// rule is accepted, the next response is stored by it.
  private func hasKnownRule(_ response: TransferResponse, mayStore: Bool) -> Bool {
    guard cache.policy.readsNoVarySearch else { return true }
    let rule = NoVarySearch(CacheFields(response.head.headerFields))
    if rule == keys.searchRule { return true }
    guard mayStore, let url = request.url, !cache.searches.learn(rule, of: url) else { return false }
    return keys.searchRule == nil
  }

  /// Whether a response that is for its sender alone may be stored.
  private func mayStore(_ entry: CacheEntry) -> Bool {
    keys.mayStoreOwn && (cache.policy.storesPersonal || !entry.fields.contains("set-cookie"))
  }

  /// Returns the head to store, its key, and whether it may be stored.
  private func head(of response: TransferResponse, _ times: Times) -> (StoredHead, CacheKey, mayStore: Bool) {
    let fields = CacheFields(response.head.headerFields)
    // The engine decodes the body if the request does not ask for a coding itself.
    let isDecoded = fields.contains("content-encoding") && !asked.leavesCoding
    let entry = CacheEntry(
      status: response.head.status.code, fields: CacheStorage.fieldsToStore(fields, received: times.received),
      requested: times.requested, received: times.received, isDecoded: isDecoded)
    let selecting = try? keys.keyring.digest(ofSelection: VaryRule(fields).selection(from: asked.fields))
    let isForAnyone = entry.isForAnyone
    let head = StoredHead(
      head: HTTPResponse(status: response.head.status, headerFields: entry.fields.httpFields),
      requested: times.requested, received: times.received, selecting: selecting ?? [], isDecoded: isDecoded,
      isCredentialed: keys.isCredentialed && !isForAnyone)
    let isWhole = response.facts.bodyCut == nil && response.body.upgraded == nil
    return (
      head, isForAnyone ? keys.common : keys.own,
      selecting != nil && isWhole && !(isOfNewSession && fields.contains("set-cookie"))
        && (isForAnyone || mayStore(entry)) && CacheStorage.mayStore(asked, entry, rules)
    )
  }
}

extension CacheExchange.Situation {
  var forwardReason: CacheReport.ForwardReason? {
    switch decision {
    case .forward(let reason): CacheReport.ForwardReason(rawValue: reason.rawValue)
    case .validate: .stale
    default: nil
    }
  }
}
