// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

extension CacheExchange {
  /// What came of asking the server.
  struct Asked: Sendable {
    var response: TransferResponse
    /// Whether other requests may get the same answer, as far as the server said.
    var isShareable: Bool
  }

  /// The times of an exchange with the server.
  struct Times: Sendable {
    var requested: Duration
    var received: Duration
  }

  /// Asks the server, by what the situation demands, and keeps what comes.
  func ask(_ situation: Situation) async throws(TransportError) -> Asked {
    let request = try outgoing(situation.decision)
    let reading = cache.changes.begin(keys.own.url)
    let requested = time.sinceEpoch()
    let response: TransferResponse
    do throws(TransportError) {
      response = try await transport.base.execute(request)
    } catch {
      if error.isUnreachable, let stale = try await stale(situation, isUnreachable: true, status: nil, error.facts) {
        return Asked(response: stale, isShareable: true)
      }
      throw error
    }
    let times = Times(requested: requested, received: time.sinceEpoch())
    let status = response.head.status.code
    if status == 304, case .validate(let index, _) = situation.decision {
      if let answer = try await validated(index, situation, response, times) { return answer }
      return try await ask(situation.asking(.stale))
    }
    if CacheReuse.failureStatuses.contains(status),
      let stale = try await stale(situation, isUnreachable: false, status: status, response.facts)
    {
      response.body.cancel()
      return Asked(response: stale, isShareable: true)
    }
    if asked.method == "HEAD" { await learn(from: response, situation, times) }
    return await kept(response, situation, times, reading)
  }

  /// The request as it goes on: with conditions, and what the mode says.
  private func outgoing(_ decision: CacheDecision) throws(TransportError) -> TransferRequest {
    var request = try request.remaining(after: time.now() - start)
    // What is kept is to be whole.
    if asked.method == "GET" { request.dropsRedirectBodies = false }
    var fields = asked.fields
    if case .validate(_, let conditions) = decision { fields.lines += conditions }
    if !fields.contains("cache-control") {
      if mode == .revalidate { fields.set("Cache-Control", "max-age=0") }
      if mode == .reload {
        fields.set("Cache-Control", "no-cache")
        if !fields.contains("pragma") { fields.set("Pragma", "no-cache") }
      }
    }
    if fields != asked.fields { request.head.headerFields = fields.httpFields }
    return request
  }

  /// What is stored, where it may serve because the server failed.
  private func stale(
    _ situation: Situation, isUnreachable: Bool, status: Int?, _ facts: TransferFacts?
  ) async throws(TransportError) -> TransferResponse? {
    guard let index = situation.chosen,
      CacheReuse.isAllowed(
        afterFailureOf: asked, for: situation.entries[index], isUnreachable: isUnreachable, now: time.sinceEpoch(),
        rules),
      let serving = CacheServing(of: situation.entries[index], to: asked)
    else { return nil }
    var report = CacheReport(.staleServed)
    report.forwardReason = .stale
    report.forwardStatus = status
    var facts = facts ?? TransferFacts()
    // It tells of the body that is not given.
    facts.bodyCut = nil
    return try await served(situation.stored[index], serving, report, facts: facts)
  }

  /// What a 304 makes of what is stored; `nil` where it is about none of it, or the body is gone.
  private func validated(
    _ index: Int, _ situation: Situation, _ response: TransferResponse, _ times: Times
  ) async throws(TransportError) -> Asked? {
    let fields = fieldsForEntries(of: response)
    let matches = CacheFreshening.matches(fields, among: situation.entries, asked: index)
    var heads = situation.stored
    for match in matches {
      heads[match] = await refreshed(match, situation, by: fields, times)
    }
    let serving = matches.contains(index) ? index : matches.first
    var answer: Asked?
    if let serving, let part = CacheServing(of: heads[serving].entry, to: asked) {
      var report = CacheReport(.revalidated)
      report.forwardReason = .stale
      report.forwardStatus = 304
      report.isStored = mayStay(heads[serving].entry, serving, situation)
      // Requests that were equal by the rule before it may not be by this one.
      let keepsRule = keys.searchRule == nil || NoVarySearch(heads[serving].entry.fields) == keys.searchRule
      let isShareable = report.isStored && keepsRule && mayServeOthers(heads[serving].entry)
      answer = try await served(heads[serving], part, report, facts: response.facts).map {
        Asked(response: $0, isShareable: isShareable)
      }
      if answer == nil { await remove(heads[serving].id) }
    }
    for match in matches where !mayStay(heads[match].entry, match, situation) { await remove(heads[match].id) }
    return answer
  }

  /// A stored answer with the fields that one without a body brought for it, which the store takes as long as it may be
  /// kept with them.
  private func refreshed(
    _ index: Int, _ situation: Situation, by fields: CacheFields, _ times: Times
  ) async -> StoredHead {
    let entry = CacheFreshening.freshened(
      situation.entries[index], by: fields, requested: times.requested, received: times.received)
    var head = situation.stored[index].freshened(entry)
    head.isCredentialed = head.isCredentialed || keys.isCredentialed && !entry.isForAnyone
    let fresh = head
    if mayStay(entry, index, situation) { await visit.ask { await $0.freshen(fresh) } }
    return head
  }

  /// Whether an answer that is stored stays so: by what it says, and for whom.
  private func mayStay(_ entry: CacheEntry, _ index: Int, _ situation: Situation) -> Bool {
    let isForThese = index < situation.ownCount || entry.isForAnyone
    return isForThese && CacheStorage.mayKeep(asked, entry, rules)
  }

  /// A jar that has no cookie for this yet: what is set begins its session, and is no other's, though the request has
  /// nothing that would tell the two apart.
  var isOfNewSession: Bool {
    request.layerUses[.cookieSending] != nil && !keys.own.isPersonal && cache.policy.partitioning == .byPrincipal
  }

  /// What an answer without a body tells of entries, which may be everyone's: not the cookies that it sets for one.
  private func fieldsForEntries(of response: TransferResponse) -> CacheFields {
    var fields = CacheFields(response.head.headerFields)
    if keys.own.isPersonal || isOfNewSession { fields.remove("set-cookie") }
    return fields
  }

  /// What an answer to HEAD says of stored answers to GET (RFC 9111 §4.3.5).
  private func learn(from response: TransferResponse, _ situation: Situation, _ times: Times) async {
    guard response.head.status == .ok, !asked.forbidsStoring else { return }
    let fields = fieldsForEntries(of: response)
    for index in situation.matching where situation.entries[index].status == 200 {
      var mayStay = CacheFreshening.agrees(fields, with: situation.entries[index])
      if mayStay {
        let head = await refreshed(index, situation, by: fields, times)
        mayStay = self.mayStay(head.entry, index, situation)
      }
      if !mayStay { await remove(situation.stored[index].id) }
    }
  }
}

extension TransportError {
  /// Whether it tells that the server cannot be reached. A refused certificate tells of a server that must not be.
  fileprivate var isUnreachable: Bool {
    switch stage {
    case .resolve, .connect, .proxy, .send, .response, .timeout, .policy: true
    default: false
    }
  }
}
