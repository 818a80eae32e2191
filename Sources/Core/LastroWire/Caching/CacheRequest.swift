// SPDX-License-Identifier: Apache-2.0

/// A request from the cache's point of view: its fields and its caller's cache policy.
package struct CacheRequest: Sendable, Hashable {
  /// The caller's cache policy, in addition to the fields.
  package enum Wish: Sendable, Hashable {
    case none
    /// Do not use the cache for reading or writing.
    case bypass
    /// Do not read from the cache.
    case reload
    /// Validate a stored response before use.
    case revalidate
    /// Use a stored response, however old.
    case prefer
    /// Use a stored response, however old, and do not contact the server.
    case only
  }

  package var method: String
  package var fields: CacheFields
  package var wish: Wish
  /// Whether the request has an `Authorization` field, or another field that a shared cache treats alike (RFC 9111
  /// §3.5).
  package var isAuthorized: Bool

  package init(method: String = "GET", fields: CacheFields = CacheFields(), wish: Wish = .none) {
    self.method = method
    self.fields = fields
    self.wish = wish
    isAuthorized = fields.contains("authorization")
  }

  /// The request's directives. `Pragma` is used if there is no `Cache-Control` (RFC 9111 §5.4).
  package var control: CacheControl {
    let lines = fields.values("cache-control")
    if lines.isEmpty, fields.members("pragma").contains(where: { $0.lowercased() == "no-cache" }) {
      return CacheControl(["no-cache"])
    }
    return CacheControl(lines)
  }

  /// Whether the server may be contacted (RFC 9111 §5.2.1.7).
  package var mayForward: Bool { wish != .only && !control.onlyIfCached }

  /// Whether the caller wants the body in its transfer form. Otherwise the engine negotiates codings itself and decodes
  /// them.
  package var leavesCoding: Bool { fields.contains("accept-encoding") || fields.contains("range") }

  package var isReading: Bool { method == "GET" || method == "HEAD" }

  /// Whether the caller sent its own precondition, which the server has to evaluate.
  package var isConditional: Bool {
    ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since"].contains { fields.contains($0) }
      || fields.contains("if-range") && !fields.contains("range")
  }

  /// Whether the response must not be stored.
  package var forbidsStoring: Bool { wish == .bypass || control.noStore }
}
