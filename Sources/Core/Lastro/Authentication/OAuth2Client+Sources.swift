// SPDX-License-Identifier: Apache-2.0

extension OAuth2Client {
  /// Returns a source of access tokens for the client itself (RFC 6749 §4.4), which throws ``OAuth2Error``.
  ///
  /// - Parameters:
  ///   - scope: the requested scope: names, separated by spaces. Default: the endpoint's default.
  ///   - parameters: additional parameters of the body, such as `audience` or `resource`.
  ///   - stack: the stack that sends the request. Redirects are not followed, and a request that may have been sent is
  ///     not repeated. Default: the stack whose call needs the token; it must have the authenticator among its
  ///     interceptors.
  /// - Throws: ``ConfigurationError`` if the name of a parameter is empty or reserved.
  public func clientCredentials(
    scope: String? = nil, parameters: KeyValuePairs<String, Secret> = [:], stack: (any HTTPNetworkStack)? = nil
  ) throws(ConfigurationError) -> some AccessTokenSource {
    let parameters = parameters.map { ($0.key, $0.value) }
    try OAuth2TokenRequest.check(parameters)
    var fields: [(String, Secret)] = [("grant_type", "client_credentials")]
    if let scope { fields.append(("scope", Secret(scope))) }
    let request = OAuth2TokenRequest(client: self, fields: fields + parameters, scope: scope)
    return CustomAccessTokenSource { _ in try await request.send(over: stack) }
  }

  /// Returns a source of access tokens that uses a refresh token (RFC 6749 §6), and keeps the refresh token that
  /// replaces it. It throws ``OAuth2Error``, or `CancellationError` if the task was cancelled or the token was
  /// forgotten in the meantime.
  ///
  /// The source uses the latest refresh token: that of the token to replace, unless it has been replaced itself. Make
  /// one call at a time, as ``BearerAuthenticator`` does: endpoints that rotate refresh tokens treat a token that is
  /// sent twice as stolen. ``AccessTokenSource/forget()`` discards the refresh token, including the initial one; a
  /// response that arrives later is dropped, and `onRotation` is not called for it.
  ///
  /// - Parameters:
  ///   - refreshToken: the initial refresh token. Default: that of the token to replace.
  ///   - scope: the requested scope, at most the one that was originally granted. Default: the same scope.
  ///   - parameters: additional parameters of the body.
  ///   - stack: the stack that sends the request. Redirects are not followed, and a request that may have been sent is
  ///     not repeated. Default: the stack whose call needs the token; it must have the authenticator among its
  ///     interceptors.
  ///   - onRotation: a closure that is called with every new refresh token, before the access token that came with it
  ///     is used. Use it to persist the refresh token. Its duration counts towards the authenticator's timeout.
  ///     Default: does nothing.
  /// - Throws: ``ConfigurationError`` if the refresh token is empty, or the name of a parameter is empty or reserved.
  public func refreshToken(
    _ refreshToken: Secret? = nil, scope: String? = nil, parameters: KeyValuePairs<String, Secret> = [:],
    stack: (any HTTPNetworkStack)? = nil,
    onRotation: @escaping @Sendable (_ refreshToken: Secret) async -> Void = { _ in }
  ) throws(ConfigurationError) -> some AccessTokenSource {
    try OAuth2RefreshToken(
      client: self, refreshToken: refreshToken, scope: scope, parameters: parameters, stack: stack,
      onRotation: onRotation)
  }
}
