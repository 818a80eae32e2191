// SPDX-License-Identifier: Apache-2.0

/// Why ``BearerAuthenticator`` has no token to use. What its source throws is passed on as it is.
@nonexhaustive
public enum AccessTokenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The source did not answer within the timeout.
  case refreshTimedOut(Duration)
  /// There were that many refreshes within the window already: servers refuse tokens that are new.
  case excessiveRefresh(BearerAuthenticator.RefreshWindow)

  /// One line, with what to look at.
  public var description: String {
    switch self {
    case .refreshTimedOut(let timeout):
      "the token source gave no token within \(timeout.brief) (look at the source, or raise refreshTimeout)"
    case .excessiveRefresh(let window):
      "the server refused \(window.count) new token\(window.count == 1 ? "" : "s") within \(window.duration.brief) "
        + "(check clock, audience, scope)"
    }
  }
}
