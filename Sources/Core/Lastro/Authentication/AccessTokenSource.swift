// SPDX-License-Identifier: Apache-2.0

/// A source of access tokens.
///
/// An ``OAuth2Client`` makes sources that are ready to use. A ``BearerAuthenticator`` can also be made with a closure.
public protocol AccessTokenSource: Sendable {
  /// Returns a new token. ``BearerAuthenticator`` calls this in a separate task, and makes one call at a time. It
  /// cancels the task and drops the result when its timeout passes or the application replaces the token. The next call
  /// starts when this one returns, or when it has not returned within the timeout.
  ///
  /// Requests made here may use the same authenticator: it leaves them unchanged. It recognizes them by a task-local
  /// value, which child tasks inherit. The value is lost in `Task.detached`, on a dispatch queue and in a callback of
  /// another library. A request made there would wait, until the timeout, for the refresh that it is a part of. Use a
  /// stack without the authenticator there.
  ///
  /// - Parameter old: the token to replace, with its remaining lifetime; `nil` if there is none yet.
  /// - Throws: an error if no token is available. Every waiting request receives the error unchanged, so it must not
  ///   contain secrets.
  func token(replacing old: AccessToken?) async throws -> AccessToken

  /// Discards all that the source remembers about the tokens it returned, because the application set another token
  /// (``BearerAuthenticator/replace(with:)``), possibly for another user. A response that is still in flight is
  /// obsolete and must have no effect.
  ///
  /// This method is called on the application's thread, before the other token is used, and must return at once. The
  /// task of a call in progress has already been cancelled. Default: does nothing, for sources that remember nothing.
  func forget()
}

extension AccessTokenSource {
  /// Does nothing, for sources that remember nothing about the tokens they returned.
  public func forget() {}
}
