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
    /// The state of the other processes' responses; empty if it is unknown.
    var mark: [UInt8] = []

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
    guard let answer else { return try await asking(situation, landings) }
    guard cache.shared != nil, case .unavailable = situation.decision else { return answer }
    return try await asking(situation, landings)
  }

  /// Returns the response if the server need not be asked, and the situation in any case.
  ///
  /// - Parameters:
  ///   - mark: the state of the other processes' responses. Default empty: unknown.
  ///   - validates: whether a stale response is validated before it is served. Default false: as it permits.
  func locally(
    mark: [UInt8] = [], validates: Bool = false
  ) async throws(TransportError) -> (TransferResponse?, Situation) {
    var situation = Situation(decision: .forward(.uriMiss))
    // An entry whose body is missing or corrupt is removed, and the lookup is repeated a few times, because new entries
    // may arrive meanwhile.
    for _ in 0..<4 {
      situation = try await look()
      situation.mark = mark
      switch situation.decision {
      case .serve(let index, let serving):
        if let answer = try await served(situation.stored[index], serving, CacheReport(.hit)) {
          return (answer, situation)
        }
        await remove(situation.stored[index].id)
      case .serveAndRevalidate(let index, _) where validates:
        situation.decision = CacheDecision.validation(of: index, situation.entries)
        return (nil, situation)
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
      // To a request with credentials, serve a response stored without them only if it is for anyone.
      let common = keys.own == keys.common ? [] : await store.heads(for: keys.common).filter(\.entry.isForAnyone)
      return access.isCondemned(keys.own.url) ? ([], []) : (own, common)
    }
  }
}

extension CacheExchange {
  /// Builds the response from a stored one. Returns `nil` if the stored body is gone.
  ///
  /// - Throws: stage `limit` if the body is longer than the request allows.
  func served(
    _ stored: StoredHead, _ serving: CacheServing, _ report: CacheReport, facts: TransferFacts = TransferFacts()
  ) async throws(TransportError) -> TransferResponse? {
    var body = ResponseBody(Data())
    if asked.method != "HEAD", serving != .unsatisfiable {
      guard let found = try await self.body(of: stored, serving, report) else { return nil }
      body = found
    }
    let freshness = CacheFreshness(of: stored.entry, now: time.sinceEpoch(), rules: rules)
    var report = report
    report.age = Int(freshness.age.components.seconds)
    report.ttl = Int(freshness.left.components.seconds)
    if report.outcome == .hit, !freshness.isFresh { report.outcome = .staleServed }
    var fields = CacheFields(stored.head.headerFields)
    fields.set("Age", "\(freshness.age.components.seconds)")
    var status = stored.head.status
    switch serving {
    case .whole: break
    case .part(let range):
      fields = fields.ofPart(range, of: stored.length)
      status = .partialContent
    case .unsatisfiable:
      fields = CacheFields(fields.lines.filter { ["date", "age"].contains($0.name.lowercased()) })
      fields.set("Content-Range", "bytes */\(stored.length)")
      status = .rangeNotSatisfiable
    }
    let response = TransferResponse(
      head: HTTPResponse(status: status, headerFields: fields.httpFields), body: body, facts: facts)
    return try limited(noted(response, report))
  }

  /// Returns the stored body, or the requested part of it. Returns `nil` if the store does not have all of it.
  private func body(
    of stored: StoredHead, _ serving: CacheServing, _ report: CacheReport
  ) async throws(TransportError) -> ResponseBody? {
    let isStreamed = if case .collected = request.delivery { false } else { serving == .whole }
    let (url, access) = (keys.own.url, cache.access)
    let body = await visit.ask { store -> ResponseBody? in
      guard let body = await store.body(of: stored.id), !access.isCondemned(url) else { return nil }
      if isStreamed || body.bytes != nil && serving == .whole { return body }
      // Collect here, where waiting for the store is limited.
      guard let all = try? await body.collect(upTo: Int(clamping: stored.length)) else { return nil }
      guard case .part(let range) = serving else { return ResponseBody(all) }
      guard Int64(all.count) >= range.upperBound else { return nil }
      return ResponseBody(Data(all.dropFirst(Int(range.lowerBound)).prefix(range.count)))
    }
    if body == nil { try checkCancelled(requestSent: report.forwardReason != nil) }
    guard let body = body ?? nil else { return nil }
    return body.bytes == nil ? ResponseBody(source: StoredBody(body, of: request, visit)) : body
  }

  /// Applies the request's body limit to a response in memory, as any transport does.
  func limited(_ response: TransferResponse) throws(TransportError) -> TransferResponse {
    guard let count = response.body.bytes?.count else { return response }
    if let limit = request.delivery.limit(for: response.head.status), count > limit {
      throw TransportError(
        stage: .limit, code: .bodyTooLarge, message: "the body from the cache exceeds \(limit.counted("byte"))",
        hint: "raise maximumBodyBytes, or stream the body", facts: response.facts, head: response.head)
    }
    request.progress?.report(received: Int64(count), of: Int64(count))
    return response
  }

  func noted(_ response: TransferResponse, _ report: CacheReport) -> TransferResponse {
    transport.noted(response, report)
  }
}

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
    var (head, key, mayStore) = head(of: response, times)
    head.mark = situation.mark
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
        if await tee.startStoring() {
          report.isStored = true
          response.body = ResponseBody(source: tee)
        }
      }
    }
    // Requests that wait for one another by a rule may have different URLs: they share a response only if it has that
    // rule too. Without a rule, their URLs are equal.
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
  var forwardReason: CacheDecision.ForwardReason? {
    switch decision {
    case .forward(let reason): reason
    case .validate: .stale
    default: nil
    }
  }
}
