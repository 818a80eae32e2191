// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The interceptor that `.basic(user:password:origins:allowsInsecureOrigins:)` makes, where it is documented.
package struct BasicAuthenticator: RequestAuthenticator, HTTPResourceInterceptor, ScopedAuthenticator,
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
  /// - Throws: ``ConfigurationError`` for an invalid argument.
  package init(
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
  package func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
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
