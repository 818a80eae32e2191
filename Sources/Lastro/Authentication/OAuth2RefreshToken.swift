// SPDX-License-Identifier: Apache-2.0

/// Gets access tokens for a refresh token (RFC 6749 §6), and keeps the one that replaces it.
///
/// To be asked one call at a time, as ``BearerAuthenticator`` does: endpoints that rotate refresh tokens take one that
/// comes twice for stolen.
public final class OAuth2RefreshToken: AccessTokenSource {
  private struct State {
    var current: Secret?
    /// The latest that were replaced.
    var spent: [Secret] = []
  }

  private let client: OAuth2Client
  private let scope: String?
  private let parameters: [(String, Secret)]
  private let stack: any HTTPNetworkStack
  private let onRotation: @Sendable (Secret) async -> Void
  private let state: Lock<State>

  /// Makes a source.
  ///
  /// - Parameters:
  ///   - client: who asks, and where.
  ///   - refreshToken: the one to begin with. Default: that of the token to replace.
  ///   - scope: not more than was granted at first. Default: the same.
  ///   - parameters: goes into the body besides.
  ///   - stack: carries the request. Redirects are not followed, and a request that may have been sent is not repeated.
  ///   - onRotation: called with every refresh token that replaces another, before the access token that came with it
  ///     is used: the place to persist it. Counts for the authenticator's timeout. Default: nothing.
  /// - Throws: ``ConfigurationError`` when the refresh token is empty, or a parameter has no name, or one that is taken.
  public init(
    client: OAuth2Client, refreshToken: Secret? = nil, scope: String? = nil,
    parameters: KeyValuePairs<String, Secret> = [:], stack: some HTTPNetworkStack,
    onRotation: @escaping @Sendable (_ refreshToken: Secret) async -> Void = { _ in }
  ) throws(ConfigurationError) {
    guard refreshToken.map({ !$0.isEmpty }) ?? true else { throw ConfigurationError("the refresh token is empty") }
    self.client = client
    self.scope = scope
    self.parameters = parameters.map { ($0.key, $0.value) }
    self.stack = stack
    self.onRotation = onRotation
    state = Lock(State(current: refreshToken))
    try OAuth2TokenRequest.check(self.parameters)
  }

  /// Asks the endpoint for a token, with the latest refresh token: that of `old`, unless it has been replaced.
  ///
  /// - Throws: ``OAuth2Error``.
  public func token(replacing old: AccessToken?) async throws -> AccessToken {
    let refreshToken = state.withLock { state in
      if let known = old?.refreshToken, !state.spent.contains(known) { state.current = known }
      return state.current
    }
    guard let refreshToken else { throw OAuth2Error.noRefreshToken }
    var fields: [(String, Secret)] = [("grant_type", "refresh_token"), ("refresh_token", refreshToken)]
    if let scope { fields.append(("scope", Secret(scope))) }
    fields += parameters
    let request = OAuth2TokenRequest(client: client, fields: fields, scope: scope ?? old?.scope)
    let token = try await request.send(over: stack)
    guard let next = token.refreshToken, next != refreshToken else {
      return AccessToken(
        unchecked: token.value, expiresIn: token.expiresIn, refreshToken: refreshToken, scope: token.scope)
    }
    state.withLock { state in
      state.spent = state.spent.suffix(15) + [refreshToken]
      state.current = next
    }
    await onRotation(next)
    return token
  }
}
