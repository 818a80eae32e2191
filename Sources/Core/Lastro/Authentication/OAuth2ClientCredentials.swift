// SPDX-License-Identifier: Apache-2.0

/// A source of access tokens for the client itself (RFC 6749 §4.4).
public struct OAuth2ClientCredentials: AccessTokenSource {
  private let request: OAuth2TokenRequest
  private let stack: (any HTTPNetworkStack)?

  /// Creates a source.
  ///
  /// - Parameters:
  ///   - client: the client, and the URL of the token endpoint.
  ///   - scope: the requested scope: names, separated by spaces. Default: the endpoint's default.
  ///   - parameters: additional parameters of the body, such as `audience` or `resource`.
  ///   - stack: the stack that sends the request. Redirects are not followed, and a request that may have been sent is
  ///     not repeated. Default: the stack whose call needs the token; it must have the authenticator among its
  ///     interceptors.
  /// - Throws: ``ConfigurationError`` if the name of a parameter is empty or reserved.
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

  /// Requests a token from the endpoint.
  ///
  /// - Throws: ``OAuth2Error``.
  public func token(replacing old: AccessToken?) async throws -> AccessToken { try await request.send(over: stack) }
}
