// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What a jar did with one `Set-Cookie` field.
public struct CookieVerdict: Sendable, Hashable, CustomStringConvertible {
  /// What it did.
  public enum Outcome: Sendable, Hashable {
    /// The cookie is new, or has another value than before.
    case stored
    /// The jar had it, with that value; what else the server said of it counts from now on.
    case renewed
    /// It has expired, which is how servers take cookies back; the jar had it.
    case removed
    /// It has expired, and the jar did not have it.
    case expired
    /// The jar did not take it.
    case refused(CookieRefusal)
  }

  /// The cookie's name; empty where the field could not be read, or gave none.
  public let name: String
  /// What the jar did.
  public let outcome: Outcome

  /// Makes a verdict; for tests.
  public init(_ name: String, _ outcome: Outcome) { (self.name, self.outcome) = (name, outcome) }

  /// Whether requests will have other cookies than before.
  var changesRequests: Bool { outcome == .stored || outcome == .removed }

  /// Such as `session: stored`.
  public var description: String {
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
