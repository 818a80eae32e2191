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
      "the access token could not be refreshed within \(timeout) (look at its source, or raise refreshTimeout)"
    case .excessiveRefresh(let window):
      "the access token was refreshed \(window.count) times within \(window.duration) "
        + "(look at why new tokens are refused: clock, audience, scope)"
    }
  }
}
