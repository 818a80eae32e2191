// SPDX-License-Identifier: Apache-2.0

/// What a request asks of a cache, by its fields and by its caller.
package struct CacheRequest: Sendable, Hashable {
  /// What the caller asks beside the fields.
  package enum Wish: Sendable, Hashable {
    case none
    /// Neither read nor write.
    case bypass
    /// Do not read.
    case reload
    /// Validate what is there.
    case revalidate
    /// Answer with what is there, however old.
    case prefer
    /// The same, and do not ask the server.
    case only
  }

  package var method: String
  package var fields: CacheFields
  package var wish: Wish
  /// Whether the request has an `Authorization` field, or another one that a shared cache treats alike (RFC 9111 §3.5).
  package var isAuthorized: Bool

  package init(method: String = "GET", fields: CacheFields = CacheFields(), wish: Wish = .none) {
    self.method = method
    self.fields = fields
    self.wish = wish
    isAuthorized = fields.contains("authorization")
  }

  /// Without `Cache-Control` the old `Pragma` counts (RFC 9111 §5.4).
  package var control: CacheControl {
    let lines = fields.values("cache-control")
    if lines.isEmpty, fields.members("pragma").contains(where: { $0.lowercased() == "no-cache" }) {
      return CacheControl(["no-cache"])
    }
    return CacheControl(lines)
  }

  /// Whether the server may be asked (RFC 9111 §5.2.1.7).
  package var mayForward: Bool { wish != .only && !control.onlyIfCached }

  /// Whether a body is wanted in the coding in which it comes: the engine undoes those that it asks for itself.
  package var leavesCoding: Bool { fields.contains("accept-encoding") || fields.contains("range") }

  package var isReading: Bool { method == "GET" || method == "HEAD" }

  /// Whether its sender has an answer already, which the server is to judge.
  package var isConditional: Bool {
    ["if-none-match", "if-modified-since", "if-match", "if-unmodified-since"].contains { fields.contains($0) }
      || fields.contains("if-range") && !fields.contains("range")
  }

  /// Whether the answer, whichever, is not kept.
  package var forbidsStoring: Bool { wish == .bypass || control.noStore }
}
