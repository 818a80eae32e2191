// SPDX-License-Identifier: Apache-2.0

/// The reason why ``BearerAuthenticator`` has no token. Errors that its source throws are passed on unchanged.
package enum AccessTokenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The source did not return a token within the timeout.
  case refreshTimedOut(Duration)
  /// The maximum number of refreshes within the window was reached: servers refuse even new tokens.
  case excessiveRefresh(BearerAuthenticator.RefreshWindow)

  /// A line with the reason and a suggestion.
  package var description: String {
    switch self {
    case .refreshTimedOut(let timeout):
      "the token source gave no token within \(timeout.brief) (look at the source, or raise refreshTimeout)"
    case .excessiveRefresh(let window):
      "the server refused \(window.count) new token\(window.count == 1 ? "" : "s") within \(window.duration.brief) "
        + "(check clock, audience, scope)"
    }
  }
}
