// SPDX-License-Identifier: Apache-2.0

/// What becomes of a request: a function of what is stored, the request and the time (RFC 9111 §4).
package enum CacheDecision: Sendable, Hashable {
  /// Why a request goes on to the server (RFC 9211 §2.2).
  package enum ForwardReason: String, Sendable, Hashable {
    case bypass, method, uriMiss = "uri-miss", varyMiss = "vary-miss", request, stale, partial
  }

  /// Answer with this entry, which is fresh, or may be stale.
  case serve(Int, CacheServing)
  /// Answer with this entry, which is stale, and validate it behind the answer.
  case serveAndRevalidate(Int, CacheServing)
  /// Ask the server whether this entry still holds, with these fields added.
  case validate(Int, conditions: [CacheFields.Line])
  /// Ask the server as if nothing was stored.
  case forward(ForwardReason)
  /// Answer 504, for the server must not be asked (RFC 9111 §5.2.1.7).
  case unavailable

  /// Decides.
  ///
  /// - Parameters:
  ///   - entries: all answers of the request's URL and partition.
  ///   - matching: which of them the request's fields select.
  package static func decide(
    _ request: CacheRequest, entries: [CacheEntry], matching: [Int], now: Duration, rules: CacheRules
  ) -> CacheDecision {
    guard request.isReading else { return .forward(.method) }
    let control = request.control
    let mayForward = request.mayForward
    func forward(_ reason: ForwardReason) -> CacheDecision { mayForward ? .forward(reason) : .unavailable }
    if request.forbidsStoring { return forward(.bypass) }
    if request.wish == .reload || request.isConditional { return forward(.request) }
    guard let chosen = newest(of: matching, entries) else {
      return forward(entries.isEmpty ? .uriMiss : .varyMiss)
    }
    let entry = entries[chosen]
    guard let serving = CacheServing(of: entry, to: request) else { return forward(.partial) }
    switch CacheReuse(of: entry, request, control, now: now, rules) {
    case .allowed: return .serve(chosen, serving)
    case .allowedBeforeValidation: return mayForward ? .serveAndRevalidate(chosen, serving) : .serve(chosen, serving)
    case .afterValidation:
      guard mayForward else { return .unavailable }
      return validation(of: chosen, entries)
    }
  }

  /// Of several answers that may serve, the latest (RFC 9111 §4.1).
  package static func newest(of matching: [Int], _ entries: [CacheEntry]) -> Int? {
    matching.max { entries[$0].isOlder(than: entries[$1]) }
  }

  /// Asks whether an entry still holds; for it anew where it has no validator.
  package static func validation(of chosen: Int, _ entries: [CacheEntry]) -> CacheDecision {
    let conditions = entries[chosen].conditions(among: entries)
    return conditions.isEmpty ? .forward(.stale) : .validate(chosen, conditions: conditions)
  }
}

extension CacheEntry {
  fileprivate func isOlder(than other: CacheEntry) -> Bool { (date, received) < (other.date, other.received) }

  /// The fields that ask whether it still holds (RFC 9111 §4.3.1): the tags of all answers that are stored, for the
  /// server may choose another one of them.
  fileprivate func conditions(among entries: [CacheEntry]) -> [CacheFields.Line] {
    var lines: [CacheFields.Line] = []
    if let tag {
      let others = Set(entries.compactMap(\.tag)).subtracting([tag])
      lines.append(.init("If-None-Match", ([tag] + others.sorted()).joined(separator: ", ")))
    }
    if let lastModified { lines.append(.init("If-Modified-Since", lastModified)) }
    return lines
  }
}
