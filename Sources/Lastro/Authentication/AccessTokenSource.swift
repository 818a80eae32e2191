// SPDX-License-Identifier: Apache-2.0

/// Where access tokens come from.
///
/// ``OAuth2ClientCredentials`` and ``OAuth2RefreshToken`` are ready; ``CustomAccessTokenSource`` calls a closure.
public protocol AccessTokenSource: Sendable {
  /// Gets a new token. ``BearerAuthenticator`` asks in a task of its own and one call at a time. It cancels the task
  /// when its timeout passes or the application replaces the token, and drops the answer; the next call begins when
  /// this one has returned, or does not within the timeout.
  ///
  /// Requests made here may go through the same authenticator: they pass as they are. That is known by the task, and
  /// its children inherit it. `Task.detached`, a dispatch queue and a callback of another library lose it: a request
  /// made there would wait for the very refresh that it is for, until the timeout. Use a stack without the
  /// authenticator there.
  ///
  /// - Parameter old: the token to replace, with what is left of its lifetime; `nil` when there is none yet.
  /// - Throws: when there is no token to be had. The error reaches every waiting request as it is: it must not have
  ///   secrets in it.
  func token(replacing old: AccessToken?) async throws -> AccessToken

  /// Drops what the source remembers of the tokens it gave: the application put another in place
  /// (``BearerAuthenticator/replace(with:)``), maybe another user's. An answer that is still on its way is of no use
  /// any more, and must have no effect.
  ///
  /// Called on the thread of the application, before the other token is used: return at once. The task of a call that
  /// runs has been cancelled by then. Default: nothing, for sources that remember nothing.
  func forget()
}

extension AccessTokenSource {
  /// The default, for sources that remember nothing of the tokens they gave.
  public func forget() {}
}
