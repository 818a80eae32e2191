// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The source that ``OAuth2Client/refreshToken(_:scope:parameters:stack:onRotation:)`` returns.
package final class OAuth2RefreshToken: AccessTokenSource {
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
  /// - Throws: ``ConfigurationError`` if the refresh token is empty, or the name of a parameter is empty or reserved.
  package init(
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
  package func token(replacing old: AccessToken?) async throws -> AccessToken {
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
        value: token.value, expiresIn: token.expiresIn, refreshToken: refreshToken, scope: token.scope,
        type: token.type)
    }
    await onRotation(next)
    return token
  }

  /// Forgets the refresh token, including the initial one. The next call uses the refresh token of the token to
  /// replace. A response that arrives later is dropped, and `onRotation` is not called for it.
  package func forget() {
    state.withLock { state in
      state.current = nil
      state.generation += 1
    }
  }
}
