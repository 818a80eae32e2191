// SPDX-License-Identifier: Apache-2.0

/// The rules for storing responses and their fields (RFC 9111 §3).
package enum CacheStorage {
  /// The fields that apply to a single connection, in addition to those listed in `Connection` (§3.1).
  private static let connectionFields: Set<String> = [
    "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
    "proxy-authentication-info", "proxy-authorization",
  ]

  /// Returns whether a response may be stored once its body is complete.
  package static func mayStore(_ request: CacheRequest, _ entry: CacheEntry, _ rules: CacheRules) -> Bool {
    guard request.method == "GET", entry.status >= 200, !CacheRules.transientStatuses.contains(entry.status),
      mayKeep(request, entry, rules)
    else { return false }
    let control = entry.control
    return (isExplicit(control, entry, rules) || CacheRules.heuristicStatuses.contains(entry.status))
      && isUseful(control, entry, rules)
  }

  /// Returns whether a stored response may stay in the cache after a response to this request has updated its fields.
  package static func mayKeep(_ request: CacheRequest, _ entry: CacheEntry, _ rules: CacheRules) -> Bool {
    let control = entry.control
    return !request.forbidsStoring && !VaryRule(entry.fields).matchesNone && isAllowed(control, entry.status)
      && (!rules.isShared || isAllowedShared(control, request))
  }

  private static func isAllowed(_ control: CacheControl, _ status: Int) -> Bool {
    if control.mustUnderstand { return CacheRules.understoodStatuses.contains(status) }
    return !control.noStore
  }

  /// Returns whether a shared cache may store the response (§3.5, §5.2.2.7).
  private static func isAllowedShared(_ control: CacheControl, _ request: CacheRequest) -> Bool {
    if control.isPrivate { return false }
    return !request.isAuthorized || control.isPublic || control.mustRevalidate
      || control.sharedMaxAge != nil
  }

  private static func isExplicit(_ control: CacheControl, _ entry: CacheEntry, _ rules: CacheRules) -> Bool {
    control.isPublic || control.isPrivate || control.maxAge != nil || entry.fields.contains("expires")
      || rules.isShared && control.sharedMaxAge != nil
  }

  /// Returns whether a response can ever be reused or validated. Otherwise, storing it would waste space.
  private static func isUseful(_ control: CacheControl, _ entry: CacheEntry, _ rules: CacheRules) -> Bool {
    entry.tag != nil || entry.lastModified != nil || entry.lifetime(rules) > .zero
      || control.staleIfError != nil || control.staleWhileRevalidate != nil
  }

  /// Returns the fields to store. A response without `Date` gets the date of its receipt (RFC 9110 §6.6.1).
  package static func fieldsToStore(_ fields: CacheFields, received: Duration) -> CacheFields {
    var result = withoutConnectionFields(fields)
    if !result.contains("date") { result.set("Date", HTTPDate.text(received.components.seconds)) }
    return result
  }

  static func withoutConnectionFields(_ fields: CacheFields) -> CacheFields {
    let named = connectionFields.union(fields.members("connection").map { $0.lowercased() })
    return CacheFields(fields.lines.filter { !named.contains($0.name.lowercased()) })
  }
}
