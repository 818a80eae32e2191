// SPDX-License-Identifier: Apache-2.0

extension HTTPResourceInterceptor where Self == APIKeyAuthenticator {
  /// Returns an interceptor that adds a fixed bearer token (RFC 6750 §2.1) to every request to the given origins, and
  /// to no other request.
  ///
  /// ```swift
  /// configuration.interceptors = [try .bearer(token, for: "https://api.example.com")]
  /// ```
  ///
  /// An existing `Authorization` field of a request is replaced. A 401 is not retried; use ``BearerAuthenticator`` for
  /// tokens that are renewed.
  ///
  /// - Parameters:
  ///   - token: the token, without `Bearer`: at least one character, all of them visible ASCII.
  ///   - origins: the origins that receive the token, in the form that ``Origin`` reads; at least one. All must use
  ///     `https` or be on this machine.
  /// - Throws: ``ConfigurationError`` if there is no origin, if one is invalid or has no encryption, or if the token is
  ///   not valid in a header field.
  public static func bearer(_ token: Secret, for origins: String...) throws(ConfigurationError) -> APIKeyAuthenticator {
    var read: [Origin] = []
    for origin in origins { read.append(try Origin(origin)) }
    return try APIKeyAuthenticator(
      AccessToken(token).value, in: .header("Authorization", prefix: "Bearer "), origins: read)
  }
}
