// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The policy for following redirects.
public struct GeminiRedirects: Sendable {
  /// The decision about a redirect.
  package enum Decision: Sendable, Hashable {
    /// Follows the redirect.
    case follow
    /// Fails with code `redirect_refused`.
    case refuse
    /// Returns the 3x response.
    case deliver
  }

  /// A redirect.
  package struct Step: Sendable {
    /// The URL that returned the redirect.
    package var from: GeminiURL
    /// The target of the redirect.
    package var to: GeminiReference
    /// The status: 30, 31, or another 3x.
    package var status: GeminiStatus
    /// The number of the redirect, from 1.
    package var number: Int

    /// Whether the target has another host or port, or another scheme than Gemini.
    package var leavesHost: Bool {
      if case .gemini(let url) = to { url.authority != from.authority } else { true }
    }
  }

  /// The maximum number of consecutive redirects. Default 5.
  package var limit: Int
  /// A closure that decides about each redirect with a valid target; a redirect without one fails with
  /// `invalid_redirect`. A redirect to another scheme cannot be followed, only delivered.
  package var decide: @Sendable (Step) async -> Decision { didSet { handsAllOver = false } }
  /// Whether every redirect is delivered, so that its target need not be valid.
  private(set) var handsAllOver = false

  /// Creates a policy. `limit` is 5 by default; a negative number counts as 0.
  package init(limit: Int = 5, decide: @escaping @Sendable (Step) async -> Decision) {
    self.limit = max(0, limit)
    self.decide = decide
  }

  /// Follows up to five redirects on the same host and port; refuses all others.
  public static let standard = GeminiRedirects { $0.leavesHost ? .refuse : .follow }
  /// Returns every 3x response, even if its target is not a URL.
  public static let none: GeminiRedirects = {
    var policy = GeminiRedirects { _ in .deliver }
    policy.handsAllOver = true
    return policy
  }()

  /// Follows redirects to any Gemini host, up to five consecutive ones by default; a negative limit counts as 0.
  public static func acrossHosts(limit: Int = 5) -> GeminiRedirects { GeminiRedirects(limit: limit) { _ in .follow } }
}
