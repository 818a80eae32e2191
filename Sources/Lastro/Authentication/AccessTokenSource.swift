// SPDX-License-Identifier: Apache-2.0

/// Where access tokens come from.
///
/// ``OAuth2ClientCredentials`` and ``OAuth2RefreshToken`` are ready; ``CustomAccessTokenSource`` calls a closure.
public protocol AccessTokenSource: Sendable {
  /// Gets a new token. ``BearerAuthenticator`` asks in a task of its own and one call at a time; it cancels the task when
  /// its timeout passes, and does not wait for an answer then.
  ///
  /// - Parameter old: the token to replace, with what is left of its lifetime; `nil` when there is none yet.
  /// - Throws: when none can be had. The error reaches everybody who waits, as it is: it must not have secrets in it.
  func token(replacing old: AccessToken?) async throws -> AccessToken
}
