// SPDX-License-Identifier: Apache-2.0

/// The reason why ``BearerAuthenticator`` has no token. Errors that its source throws are passed on unchanged.
package enum AccessTokenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The source did not return a token within the timeout.
  case refreshTimedOut(Duration)
  /// The maximum number of refreshes within the window was reached: servers refuse even new tokens, or they expire as
  /// soon as they are issued.
  case excessiveRefresh(Int)

  /// A line with the reason and a suggestion.
  package var description: String {
    switch self {
    case .refreshTimedOut(let timeout):
      "the token source gave no token within \(timeout.brief) (look at the source, or raise refreshTimeout)"
    case .excessiveRefresh(let count):
      "\(count) refresh\(count == 1 ? "" : "es") within \(TokenMachine.window.brief) gave no token that is "
        + "accepted and lasts (check clock, lifetime, audience, scope)"
    }
  }
}
