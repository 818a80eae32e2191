// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

extension CacheExchange {
  /// The result of asking the server.
  struct Asked: Sendable {
    var response: TransferResponse
    /// Whether other requests may share the response, as far as the server's fields say.
    var isShareable: Bool
  }

  /// The times at which a request was sent to the server and its response received.
  struct Times: Sendable {
    var requested: Duration
    var received: Duration
  }

  /// Asks the server as the situation's decision demands, and stores the response.
  func ask(_ situation: Situation) async throws(TransportError) -> Asked {
    let request = try outgoing(situation.decision)
    let reading = cache.changes.startReading(keys.own.url)
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

  /// Returns the request to forward, with conditions for validation and the fields that the mode requires.
  private func outgoing(_ decision: CacheDecision) throws(TransportError) -> TransferRequest {
    var request = try request.remaining(after: time.now() - start)
    // A response is stored only with its whole body.
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

  /// Returns the stored response if it may be served because the server failed, otherwise `nil`.
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
    // This fact describes the server's body, which is discarded.
    facts.bodyCut = nil
    return try await served(situation.stored[index], serving, report, facts: facts)
  }

  /// Updates stored responses from a 304, and serves one. Returns `nil` if the 304 matches none of them, or the body is
  /// gone.
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
      // Requests that were equal by the previous rule may differ by this one.
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

  /// Returns a stored response with fields updated from a response without a body. Updates the store too, if the
  /// response may still be stored with these fields.
  private func refreshed(
    _ index: Int, _ situation: Situation, by fields: CacheFields, _ times: Times
  ) async -> StoredHead {
    let entry = CacheFreshening.freshened(
      situation.entries[index], by: fields, requested: times.requested, received: times.received)
    var head = situation.stored[index].freshened(entry)
    head.isCredentialed = head.isCredentialed || keys.isCredentialed && !entry.isForAnyone
    if !situation.mark.isEmpty { head.mark = situation.mark }
    let fresh = head
    if mayStay(entry, index, situation) { await visit.ask { await $0.freshen(fresh) } }
    return head
  }

  /// Whether a stored response may remain stored, by its fields and by whom it is for.
  private func mayStay(_ entry: CacheEntry, _ index: Int, _ situation: Situation) -> Bool {
    let isForThese = index < situation.ownCount || entry.isForAnyone
    return isForThese && CacheStorage.mayKeep(asked, entry, rules)
  }

  /// Whether the request comes from a cookie jar without cookies for this URL. A cookie set by the response starts that
  /// jar's session and belongs to no other jar, although the request's fields do not tell the jars apart.
  var isOfNewSession: Bool {
    request.layerUses[.cookieSending] != nil && !keys.own.isPersonal && cache.policy.partitioning == .byPrincipal
  }

  /// Returns the fields with which a response without a body updates stored entries. Cookies set for one sender are
  /// removed, because an entry may be for anyone.
  private func fieldsForEntries(of response: TransferResponse) -> CacheFields {
    var fields = CacheFields(response.head.headerFields)
    if keys.own.isPersonal || isOfNewSession { fields.remove("set-cookie") }
    return fields
  }

  /// Updates or removes stored responses to GET according to a response to HEAD (RFC 9111 §4.3.5).
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
  /// Whether the error means that the server is unreachable. A refused certificate does not: it means that the server
  /// must not be used.
  fileprivate var isUnreachable: Bool {
    switch stage {
    case .resolve, .connect, .proxy, .send, .response, .timeout, .policy: true
    default: false
    }
  }
}
