// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// A source of access tokens that uses a refresh token (RFC 6749 §6), and keeps the refresh token that replaces it.
///
/// Make one call at a time, as ``BearerAuthenticator`` does: endpoints that rotate refresh tokens treat a token that is
/// sent twice as stolen.
public final class OAuth2RefreshToken: AccessTokenSource {
  private struct State {
    var current: Secret?
    /// The latest refresh tokens that were replaced.
    var spent: [Secret] = []
    /// The number of calls of ``forget()``. A response to a request from before the latest call is dropped.
    var generation: UInt64 = 0
  }

  private let client: OAuth2Client
  private let scope: String?
  private let parameters: [(String, Secret)]
  private let stack: (any HTTPNetworkStack)?
  private let onRotation: @Sendable (Secret) async -> Void
  private let state: Lock<State>

  /// Creates a source.
  ///
  /// - Parameters:
  ///   - client: the client, and the URL of the token endpoint.
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
  public init(
    client: OAuth2Client, refreshToken: Secret? = nil, scope: String? = nil,
    parameters: KeyValuePairs<String, Secret> = [:], stack: (any HTTPNetworkStack)? = nil,
    onRotation: @escaping @Sendable (_ refreshToken: Secret) async -> Void = { _ in }
  ) throws(ConfigurationError) {
    guard refreshToken.map({ !$0.isEmpty }) ?? true else {
      throw ConfigurationError("the refresh token is empty", hint: "give one that the token endpoint issued, or nil")
    }
    self.client = client
    self.scope = scope
    self.parameters = parameters.map { ($0.key, $0.value) }
    self.stack = stack
    self.onRotation = onRotation
    state = Lock(State(current: refreshToken))
    try OAuth2TokenRequest.check(self.parameters)
  }

  /// Requests a token from the endpoint, with the latest refresh token: that of `old`, unless it has been replaced.
  ///
  /// - Throws: ``OAuth2Error``; `CancellationError` if the task was cancelled, or the token was forgotten in the
  ///   meantime (``forget()``).
  public func token(replacing old: AccessToken?) async throws -> AccessToken {
    let (refreshToken, generation) = try state.withLock { state in
      // If the task was cancelled before this point, `old` may be from before a `forget()`.
      try Task.checkCancellation()
      if let known = old?.refreshToken, !state.spent.contains(known) { state.current = known }
      return (state.current, state.generation)
    }
    guard let refreshToken else { throw OAuth2Error.noRefreshToken }
    var fields: [(String, Secret)] = [("grant_type", "refresh_token"), ("refresh_token", refreshToken)]
    if let scope { fields.append(("scope", Secret(scope))) }
    fields += parameters
    let request = OAuth2TokenRequest(client: client, fields: fields, scope: scope ?? old?.scope)
    let token = try await request.send(over: stack)
    let next = token.refreshToken.flatMap { $0 == refreshToken ? nil : $0 }
    let isForgotten = state.withLock { state in
      guard state.generation == generation else { return true }
      if let next {
        state.spent = state.spent.suffix(15) + [refreshToken]
        state.current = next
      }
      return false
    }
    if isForgotten { throw CancellationError() }
    guard let next else {
      return AccessToken(
        unchecked: token.value, expiresIn: token.expiresIn, refreshToken: refreshToken, scope: token.scope)
    }
    await onRotation(next)
    return token
  }

  /// Forgets the refresh token, including the initial one. The next call uses the refresh token of the token to
  /// replace. A response that arrives later is dropped, and `onRotation` is not called for it.
  public func forget() {
    state.withLock { state in
      state.current = nil
      state.generation += 1
    }
  }
}
