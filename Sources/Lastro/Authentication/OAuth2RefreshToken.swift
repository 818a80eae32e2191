// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// Gets access tokens for a refresh token (RFC 6749 §6), and keeps the one that replaces it.
///
/// To be asked one call at a time, as ``BearerAuthenticator`` does: endpoints that rotate refresh tokens take one that
/// comes twice for stolen.
public final class OAuth2RefreshToken: AccessTokenSource {
  private struct State {
    var current: Secret?
    /// The latest that were replaced.
    var spent: [Secret] = []
    /// Counts what ``forget()`` ended: an answer to an earlier request is dropped.
    var generation: UInt64 = 0
  }

  private let client: OAuth2Client
  private let scope: String?
  private let parameters: [(String, Secret)]
  private let stack: (any HTTPNetworkStack)?
  private let onRotation: @Sendable (Secret) async -> Void
  private let state: Lock<State>

  /// Makes a source.
  ///
  /// - Parameters:
  ///   - client: the client that asks, and the endpoint.
  ///   - refreshToken: the one to begin with. Default: that of the token to replace.
  ///   - scope: not more than was granted at first. Default: the same.
  ///   - parameters: goes into the body besides.
  ///   - stack: carries the request. Redirects are not followed, and a request that may have been sent is not repeated.
  ///     Default: the stack whose call needs the token, and which has the authenticator among its interceptors.
  ///   - onRotation: called with every refresh token that replaces another, before the access token that came with it
  ///     is used: the place to persist it. Counts for the authenticator's timeout. Default: nothing.
  /// - Throws: ``ConfigurationError`` when the refresh token is empty, or a parameter has no name, or one that is
  ///   taken.
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

  /// Asks the endpoint for a token, with the latest refresh token: that of `old`, unless it has been replaced.
  ///
  /// - Throws: ``OAuth2Error``; `CancellationError` when the token was forgotten meanwhile (``forget()``).
  public func token(replacing old: AccessToken?) async throws -> AccessToken {
    let (refreshToken, generation) = try state.withLock { state in
      // Cancelled before it began: `old` may be from before a `forget()`.
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

  /// Forgets the refresh token, the one that it was made with included: the next is that of the token to replace. An
  /// answer that comes later is dropped, and `onRotation` not called for it.
  public func forget() {
    state.withLock { state in
      state.current = nil
      state.generation += 1
    }
  }
}
