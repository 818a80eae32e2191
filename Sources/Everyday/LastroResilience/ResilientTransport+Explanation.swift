// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension ResilientTransport {
  /// Returns the facts of the base transport, and the state of each part for the request's server.
  public func explain(_ request: TransferRequest) -> [FetchExplanation.Fact] {
    var facts = base.explain(request)
    let resilience = resilience.used(by: request)
    if resilience.isEmpty { facts.append(.init("resilience", "none for this request")) }
    if let words = resilience.endpoints?.words(for: request) { facts.append(.init("endpoint", words)) }
    if let pacer = resilience.pacer, let key = pacer.keyRule.key(of: request) {
      let status = pacer.status(of: key)
      var words = pacer.policy.pace.map { "\($0.perSecond) requests a second" } ?? "as the server asks"
      if let left = status.left, let reset = status.reset { words += "; \(left) left for \(reset.brief)" }
      if let blocked = status.blocked { words += "; closed for \(blocked.brief) by Retry-After" }
      facts.append(.init("pace", words))
    }
    if let limiter = resilience.limiter, let key = limiter.keyRule.key(of: request) {
      let snapshot = limiter.snapshot(of: key)
      facts.append(.init("concurrency", "\(snapshot.inUse) of \(snapshot.limit) under way, \(snapshot.waiting) wait"))
    }
    if let breaker = resilience.breaker, let key = breaker.keyRule.key(of: request) {
      let state = breaker.state(of: key)
      var words = "\(state)"
      if case .open(let left) = state { words += ", for \(left.brief)" }
      facts.append(.init("circuit", words))
    }
    if let hedger = resilience.hedger { facts.append(.init("hedging", hedger.words(for: request))) }
    return facts
  }
}

extension EndpointSet {
  /// Returns how the endpoint of a request compares with the others; `nil` if it is not in the set.
  fileprivate func words(for request: TransferRequest) -> String? {
    guard let origin = Origin(request.head) else { return nil }
    let health = health()
    guard let chosen = health.first(where: { $0.endpoint.origin == origin }) else { return nil }
    let ejected = health.filter { $0.isEjected && $0.endpoint.origin != origin }.map { "\($0.endpoint.origin)" }
    var words = "\(origin), one of \(health.count), in tier \(chosen.endpoint.tier); \(chosen.inUse) under way"
    if chosen.isEjected { words += "; ejected" }
    return words + (ejected.isEmpty ? "" : "; ejected of the others: \(ejected.joined(separator: ", "))")
  }
}

extension Hedger {
  fileprivate func words(for request: TransferRequest) -> String {
    guard let key = key(of: request) else { return "no: it must not be under way twice" }
    let status = status(of: key)
    guard let delay = status.delay else { return "not yet: too few answers are known" }
    return "after \(delay.brief), of \(policy.additional) at most; \(status.budget) can be paid for"
  }
}
