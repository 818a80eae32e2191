// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The result of processing one `Set-Cookie` field.
struct CookieVerdict: Sendable, Hashable, CustomStringConvertible {
  /// The jar's reaction to a field.
  enum Outcome: Sendable, Hashable {
    /// The cookie was stored: it is new, or has another value than before.
    case stored
    /// The jar had the cookie with the same value; its other attributes were updated.
    case renewed
    /// The cookie has expired, which is how servers delete cookies, and was removed from the jar.
    case removed
    /// The cookie has expired, and the jar did not have it.
    case expired
    /// The jar refused the cookie.
    case refused(CookieRefusal)
  }

  /// The cookie's name; empty if the field is unreadable, or has no name.
  let name: String
  /// The jar's reaction.
  let outcome: Outcome

  /// Creates a verdict.
  init(_ name: String, _ outcome: Outcome) { (self.name, self.outcome) = (name, outcome) }

  /// Whether later requests will carry other cookies than before.
  var changesRequests: Bool { outcome == .stored || outcome == .removed }

  /// The name and the outcome, such as `session: stored`.
  var description: String {
    let words =
      switch outcome {
      case .stored: "stored"
      case .renewed: "renewed"
      case .removed: "removed"
      case .expired: "expired"
      case .refused(let refusal): "refused, as it \(refusal.reason)"
      }
    return "\(name.isEmpty ? "a cookie" : name.escapedForDisplay): \(words)"
  }
}
