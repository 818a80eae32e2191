// SPDX-License-Identifier: Apache-2.0

/// The handling of a request, as a function of the stored responses, the request and the time (RFC 9111 §4).
package enum CacheDecision: Sendable, Hashable {
  /// The reason for forwarding a request to the server (RFC 9211 §2.2).
  ///
  /// - `bypass`: the cache was not consulted.
  /// - `method`: the cache does not answer requests with this method.
  /// - `uriMiss`: no response is stored for the URL.
  /// - `varyMiss`: the stored responses were selected by other request fields (`Vary`).
  /// - `request`: the request asked for the server's response.
  /// - `stale`: the stored response is not fresh.
  /// - `partial`: the stored response cannot supply the requested range.
  package enum ForwardReason: String, Sendable, Hashable {
    case bypass, method, uriMiss = "uri-miss", varyMiss = "vary-miss", request, stale, partial
  }

  /// Respond with this entry, which is fresh or may be served stale.
  case serve(Int, CacheServing)
  /// Respond with this entry, which is stale, and validate it in the background.
  case serveAndRevalidate(Int, CacheServing)
  /// Validate this entry with the server, with these fields added to the request.
  case validate(Int, conditions: [CacheFields.Line])
  /// Send the request to the server as if nothing were stored.
  case forward(ForwardReason)
  /// Respond with 504, because the server must not be contacted (RFC 9111 §5.2.1.7).
  case unavailable

  /// Returns the decision for a request.
  ///
  /// - Parameters:
  ///   - entries: all responses stored for the request's URL and partition.
  ///   - matching: the indices of entries that match the request's fields.
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

  /// Returns the latest of several matching responses (RFC 9111 §4.1).
  package static func newest(of matching: [Int], _ entries: [CacheEntry]) -> Int? {
    matching.max { entries[$0].isOlder(than: entries[$1]) }
  }

  /// Returns the decision to validate an entry, or to forward the request if the entry has no validator.
  package static func validation(of chosen: Int, _ entries: [CacheEntry]) -> CacheDecision {
    let conditions = entries[chosen].conditions(among: entries)
    return conditions.isEmpty ? .forward(.stale) : .validate(chosen, conditions: conditions)
  }
}

extension CacheEntry {
  fileprivate func isOlder(than other: CacheEntry) -> Bool { (date, received) < (other.date, other.received) }

  /// Returns the fields that validate the entry (RFC 9111 §4.3.1). They include the tags of all stored responses,
  /// because the server may select another one of them.
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
