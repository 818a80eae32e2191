// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// An authenticator that sends a user name and a password with every request to the given origins (RFC 7617), without
/// waiting for a challenge.
///
/// ```swift
/// let basic = try BasicAuthenticator(user: "ci", password: password, origins: [origin])
/// configuration.interceptors.append(basic)
/// ```
///
/// It replaces the `Authorization` field of a request. Requests to other origins are not changed. A 401 is not retried,
/// because the same credentials would be refused again.
public struct BasicAuthenticator: RequestAuthenticator, HTTPResourceInterceptor, ScopedAuthenticator,
  PromptInterceptor
{
  /// The user name.
  package let user: String
  /// The only origins that receive the credentials.
  package var origins: [Origin] { scope.origins }

  private let scope: CredentialScope
  private let authorization: Secret
  private let password: Secret

  /// Creates an authenticator.
  ///
  /// - Parameters:
  ///   - user: the user name, sent in UTF-8 without normalization; may be empty.
  ///   - password: the password, sent in UTF-8 without normalization; may be empty.
  ///   - origins: the origins that receive the credentials; at least one.
  ///   - allowsInsecureOrigins: whether an origin may use `http` to another machine, where anyone on the network path
  ///     can read the password. Default `false`: `http` is accepted only for this machine (`localhost`, 127.0.0.0/8,
  ///     `[::1]`).
  /// - Throws: ``ConfigurationError`` if there is no origin or an insecure one, if the user name has a colon (RFC 7617
  ///   §2: it would end the name), or if either text has control characters.
  public init(
    user: String, password: Secret, origins: [Origin], allowsInsecureOrigins: Bool = false
  ) throws(ConfigurationError) {
    scope = try CredentialScope(origins, allowsInsecureOrigins: allowsInsecureOrigins)
    authorization = try .basic(user: user, password)
    self.user = user
    self.password = password
  }

  /// Sets `Authorization` if the request goes to one of its origins.
  ///
  /// - Throws: an error with stage `request` and code `invalid_header` if the user name or the password is not valid in
  ///   a header field.
  public func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    guard scope.covers(request) else { return request }
    var request = request
    try request.setHeader("Authorization", authorization)
    request.options.secrets.insert(password)
    return request
  }
}

extension Secret {
  /// Returns a user name and a password as the value of an `Authorization` field (RFC 7617).
  ///
  /// - Throws: ``ConfigurationError`` if the user name has a colon, or if either text has control characters.
  package static func basic(user: String, _ password: Secret) throws(ConfigurationError) -> Secret {
    guard !user.utf8.contains(UInt8(ascii: ":")) else {
      throw ConfigurationError(
        "the user name has a colon in it", hint: "remove it: what follows would count as the password; RFC 7617 §2")
    }
    guard !user.hasControlCharacter else {
      throw ConfigurationError("the user name has a control character in it", hint: "remove it, for example a newline")
    }
    guard !password.reveal().hasControlCharacter else {
      throw ConfigurationError(
        "the password has a control character in it",
        hint: "remove it: a password read from a file often ends with a newline")
    }
    return Secret("Basic " + Data("\(user):\(password.reveal())".utf8).base64EncodedString())
  }
}
