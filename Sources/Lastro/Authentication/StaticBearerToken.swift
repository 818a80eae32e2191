// SPDX-License-Identifier: Apache-2.0

extension HTTPResourceInterceptor where Self == APIKeyAuthenticator {
  /// A bearer token that does not change (RFC 6750 §2.1), on every request to the given origins and to no other.
  ///
  /// ```swift
  /// configuration.interceptors = [try .bearer(token, for: "https://api.example.com")]
  /// ```
  ///
  /// What a request has as `Authorization` is replaced. A 401 stands; ``BearerAuthenticator`` is for tokens that are
  /// renewed.
  ///
  /// - Parameters:
  ///   - token: the token alone, without `Bearer`: visible ASCII characters, at least one.
  ///   - origins: where it goes, as ``Origin`` reads them; at least one. All have to be `https`, or on this machine.
  /// - Throws: ``ConfigurationError``: no origin; one that cannot be read, or has no encryption; a token that cannot
  ///   stand in a header field.
  public static func bearer(_ token: Secret, for origins: String...) throws(ConfigurationError) -> APIKeyAuthenticator {
    var read: [Origin] = []
    for origin in origins { read.append(try Origin(origin)) }
    return try APIKeyAuthenticator(
      AccessToken(token).value, in: .header("Authorization", prefix: "Bearer "), origins: read)
  }
}
