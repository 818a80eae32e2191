// SPDX-License-Identifier: Apache-2.0

/// Gets access tokens for the client itself (RFC 6749 §4.4).
public struct OAuth2ClientCredentials: AccessTokenSource {
  private let request: OAuth2TokenRequest
  private let stack: (any HTTPNetworkStack)?

  /// Makes a source.
  ///
  /// - Parameters:
  ///   - client: the client that asks, and the endpoint.
  ///   - scope: what the token is to be good for: names, separated by spaces. Default: what the endpoint thinks.
  ///   - parameters: goes into the body besides, such as `audience` or `resource`.
  ///   - stack: carries the request. Redirects are not followed, and a request that may have been sent is not repeated.
  ///     Default: the stack whose call needs the token, and which has the authenticator among its interceptors.
  /// - Throws: ``ConfigurationError`` when a parameter has no name, or one that is taken.
  public init(
    client: OAuth2Client, scope: String? = nil, parameters: KeyValuePairs<String, Secret> = [:],
    stack: (any HTTPNetworkStack)? = nil
  ) throws(ConfigurationError) {
    let parameters = parameters.map { ($0.key, $0.value) }
    try OAuth2TokenRequest.check(parameters)
    var fields: [(String, Secret)] = [("grant_type", "client_credentials")]
    if let scope { fields.append(("scope", Secret(scope))) }
    fields += parameters
    request = OAuth2TokenRequest(client: client, fields: fields, scope: scope)
    self.stack = stack
  }

  /// Asks the endpoint for a token.
  ///
  /// - Throws: ``OAuth2Error``.
  public func token(replacing old: AccessToken?) async throws -> AccessToken { try await request.send(over: stack) }
}
