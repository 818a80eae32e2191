// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

extension CacheExchange {
  /// Asks the server, unless another process has stored a response that may be served.
  ///
  /// - Parameters:
  ///   - situation: the situation in this process.
  ///   - claims: whether equal requests of other processes may wait for this one, and it for them. Default false.
  ///   - validates: whether a stale response is validated before it is served. Default false: as it permits.
  func obtain(
    _ situation: Situation, claims: Bool = false, validates: Bool = false
  ) async throws(TransportError) -> Asked {
    // Responses that are found by a rule are found in this process only.
    guard let shared = cache.shared, keys.searchRule == nil else {
      guard asked.mayForward else { return Asked(response: transport.unavailable, isShareable: false) }
      return try await ask(situation)
    }
    var (answer, situation) = try await updated(situation, from: shared, validates: validates)
    if let answer { return Asked(response: answer, isShareable: true) }
    guard claims, !situation.mark.isEmpty, [.none, .prefer].contains(asked.wish) else {
      return try await ask(situation)
    }
    let share = request.deadline.map { max(.zero, $0 - (time.now() - start)) / 2 }
    let (claim, waited) = await shared.claim(
      keys.own, "\(mode) \(asked.leavesCoding)", after: situation.mark, within: share)
    switch claim {
    case .granted(let end):
      do throws(TransportError) {
        let asked = try await ask(situation)
        // Others do not wait for a response that each of them has to validate.
        let isStored = asked.response.facts.cacheReport?.isStored == true && asked.response.body.bytes != nil
        end(asked.isShareable && isStored)
        return noted(asked, waited: waited, "alone")
      } catch {
        end(false)
        throw error
      }
    case .refused: return noted(try await ask(situation), waited: waited, "alone")
    case .stored:
      (answer, situation) = try await updated(situation, from: shared, validates: validates)
      if let answer { return noted(Asked(response: answer, isShareable: true), waited: waited, "shared") }
      return noted(try await ask(situation), waited: waited, "alone")
    }
  }

  /// Asks the store for what other processes have stored, and returns the response if one may be served now.
  private func updated(
    _ situation: Situation, from shared: any SharedHTTPCacheStore, validates: Bool
  ) async throws(TransportError) -> (TransferResponse?, Situation) {
    let share = request.deadline.map { max(.zero, $0 - (time.now() - start)) / 2 }
    let all = keys.own == keys.common ? [keys.own] : [keys.own, keys.common]
    let mark = try? await interruptible(within: share, time: time) { await shared.update(all) }.get()
    try checkCancelled()
    guard let mark, !mark.isEmpty else {
      if case .unavailable = situation.decision { return (transport.unavailable, situation) }
      return (nil, situation)
    }
    return try await locally(mark: mark, validates: validates)
  }

  private func noted(_ asked: Asked, waited: Duration, _ outcome: String) -> Asked {
    guard waited > .zero else { return asked }
    var asked = asked
    asked.response.facts.notes.append(
      TransferFacts.Note(
        "collapsed", detail: outcome,
        text: "waited \(waited.brief) for an equal request of another instance", wait: waited))
    return asked
  }
}
