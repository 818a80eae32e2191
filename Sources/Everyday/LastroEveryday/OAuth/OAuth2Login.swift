// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The logins of people at an authorization server: with a code that they enter on another device (RFC 8628), or in the
/// browser of this machine (RFC 8252).
///
/// ```swift
/// let login = try await stack.discoverLogin(issuer: "https://login.example.com", clientID: "shop-cli")
/// let token = try await login.authorizeInBrowser(scope: "read") { url in
///   print("Open \(url)")
/// }
/// let source = try login.client.refreshToken(stack: stack)
/// let authenticator = try BearerAuthenticator(source: source, origins: [api], token: token)
/// ```
///
/// Every request goes through the stack. A request that may have been sent is not repeated, except for the polls of a device login.
public struct OAuth2Login: Sendable {
  /// The client, whose sources renew the token.
  public let client: OAuth2Client
  let stack: any HTTPNetworkStack
  let authorizationURL: String?
  let deviceAuthorizationURL: String?
  /// The issuer that a redirect must name if it names one.
  let issuer: String?
  /// Whether the server announces that each redirect names its issuer (RFC 9207 §3).
  var announcesIssuer = false

  /// Creates the logins of a server that has no metadata. For other servers, use `discoverLogin` of a stack.
  ///
  /// - Parameters:
  ///   - client: the client and its token endpoint. Programs that run on the machines of users cannot keep a secret: their
  ///     clients have the authentication `.none` (RFC 8252 §8.4).
  ///   - stack: the stack that sends the requests. Redirects are not followed.
  ///   - authorizationURL: the URL of the authorization endpoint. Default `nil`: no login in a browser.
  ///   - deviceAuthorizationURL: the URL of the device authorization endpoint. Default `nil`: no login by a code.
  ///   - issuer: the issuer that each redirect with `iss` must name (RFC 9207). Default `nil`: not checked.
  /// - Throws: `ConfigurationError` if a URL is neither `https` nor loopback, or has a fragment.
  public init(
    client: OAuth2Client, stack: any HTTPNetworkStack, authorizationURL: String? = nil,
    deviceAuthorizationURL: String? = nil, issuer: String? = nil
  ) throws(ConfigurationError) {
    for url in [authorizationURL, deviceAuthorizationURL] {
      guard let url else { continue }
      guard !url.contains("#"), let origin = try? Origin(url), origin.keepsSecrets else {
        throw ConfigurationError(
          "the URL of an endpoint is not an https URL, or has a fragment", hint: "write https://HOST/PATH")
      }
    }
    (self.client, self.stack, self.issuer) = (client, stack, issuer)
    (self.authorizationURL, self.deviceAuthorizationURL) = (authorizationURL, deviceAuthorizationURL)
  }

  /// The parameters that the login itself sets.
  private static let reserved: Set<String> = [
    "client_id", "client_secret", "code", "code_challenge", "code_challenge_method", "device_code", "grant_type",
    "redirect_uri", "response_mode", "response_type", "scope", "state",
  ]

  static func check(_ parameters: KeyValuePairs<String, String>) throws(OAuth2LoginError) {
    for (name, _) in parameters where name.isEmpty || reserved.contains(name) {
      throw .misconfigured(
        ConfigurationError(
          name.isEmpty ? "the name of a parameter of the login is empty" : "\(name) cannot be an extra parameter",
          hint: "leave it out: the login sets it"))
    }
  }
}
