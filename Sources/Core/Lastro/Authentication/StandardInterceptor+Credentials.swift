// SPDX-License-Identifier: Apache-2.0

extension HTTPResourceInterceptor where Self == StandardInterceptor {
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
  public static func bearer(_ token: Secret, for origins: String...) throws(ConfigurationError) -> Self {
    var read: [Origin] = []
    for origin in origins { read.append(try Origin(origin)) }
    return StandardInterceptor(
      try APIKeyAuthenticator(
        AccessToken(token).value, in: .header("Authorization", prefix: "Bearer "), origins: read))
  }

  /// Returns an interceptor that sends a user name and a password with every request to the given origins (RFC 7617),
  /// without waiting for a challenge.
  ///
  /// It replaces the `Authorization` field of a request. Requests to other origins are not changed. A 401 is not
  /// retried, because the same credentials would be refused again.
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
  public static func basic(
    user: String, password: Secret, origins: [Origin], allowsInsecureOrigins: Bool = false
  ) throws(ConfigurationError) -> Self {
    StandardInterceptor(
      try BasicAuthenticator(
        user: user, password: password, origins: origins, allowsInsecureOrigins: allowsInsecureOrigins))
  }

  /// Returns an interceptor that adds an API key to every request to the given origins, in a header field.
  ///
  /// ```swift
  /// configuration.interceptors = [try .apiKey(key, header: "X-API-Key", origins: [origin])]
  /// ```
  ///
  /// An existing field of that name is replaced, and the name is added to ``RequestOptions/sensitiveHeaders``. Requests
  /// to other origins are not changed. A 401 is not retried.
  ///
  /// - Parameters:
  ///   - key: the key, on one line; not empty.
  ///   - name: the name of the header field.
  ///   - prefix: a text before the key, sent as written, including its space: `"Token "`. Default: none.
  ///   - origins: the origins that receive the key; at least one.
  ///   - allowsInsecureOrigins: whether an origin may use `http` to another machine, where anyone on the network path
  ///     can read the key. Default `false`: `http` is accepted only for this machine (`localhost`, 127.0.0.0/8,
  ///     `[::1]`).
  /// - Throws: ``ConfigurationError`` if there is no origin or an insecure one; if the key is empty, or has control
  ///   characters or surrounding blanks; if the name is not a token, or the engine sets that field; or if the prefix
  ///   begins with a blank or has control characters.
  public static func apiKey(
    _ key: Secret, header name: String, prefix: String = "", origins: [Origin], allowsInsecureOrigins: Bool = false
  ) throws(ConfigurationError) -> Self {
    StandardInterceptor(
      try APIKeyAuthenticator(
        key, in: .header(name, prefix: prefix), origins: origins, allowsInsecureOrigins: allowsInsecureOrigins))
  }

  /// Returns an interceptor that adds an API key to every request to the given origins, in a query item. Servers log
  /// URLs, so prefer a header field (``apiKey(_:header:prefix:origins:allowsInsecureOrigins:)``).
  ///
  /// The name and the key are percent-encoded (RFC 3986). An existing item of that name is replaced, the other items
  /// keep their order and spelling, and the name is added to ``RequestOptions/sensitiveQueryItems``. Requests to other
  /// origins are not changed. A 401 is not retried.
  ///
  /// - Parameters:
  ///   - key: the key, on one line; not empty.
  ///   - name: the name of the query item; not empty.
  ///   - origins: the origins that receive the key; at least one.
  ///   - allowsInsecureOrigins: whether an origin may use `http` to another machine, where anyone on the network path
  ///     can read the key. Default `false`: `http` is accepted only for this machine (`localhost`, 127.0.0.0/8,
  ///     `[::1]`).
  /// - Throws: ``ConfigurationError`` if there is no origin or an insecure one; if the key is empty, or has control
  ///   characters or surrounding blanks; or if the name is empty.
  public static func apiKey(
    _ key: Secret, queryItem name: String, origins: [Origin], allowsInsecureOrigins: Bool = false
  ) throws(ConfigurationError) -> Self {
    StandardInterceptor(
      try APIKeyAuthenticator(
        key, in: .queryItem(name), origins: origins, allowsInsecureOrigins: allowsInsecureOrigins))
  }

  /// Returns an interceptor that answers Digest challenges (RFC 7616, and the older form of RFC 2069).
  ///
  /// The first request to an origin is sent without credentials. Its 401 has a challenge, and the call is tried once
  /// more with any method, because a 401 means that the server did not act. Later requests are authenticated at once,
  /// each with its own count (`nc`). If the server reports a stale nonce, the call is tried with the new nonce. A call
  /// is sent at most three times, and the refusal of valid credentials is final.
  ///
  /// A server may have several realms. Each has its own challenge, and a retry answers the challenge of its own 401.
  /// Requests are authenticated in advance for the realm of the latest challenge.
  ///
  /// A digest covers the method, the path, the query and, with `auth-int`, the body. Interceptors that change those
  /// must come before this one, so put it last. A request that has an `Authorization` field of another scheme is left
  /// unchanged.
  ///
  /// A body is sent again with the request, unless it is large or cannot be sent twice (``RequestBody/isReplayable``).
  /// If no challenge is known yet, an idempotent request with such a body is first sent without the body, as in curl.
  /// This applies to bodies that are streamed, from a file, or longer than 64 KiB. A server that requires no
  /// credentials may act on that empty request; the complete request follows at once. Conditional requests, and
  /// requests that declare their length, are not changed, and neither are requests that are not idempotent, such as a
  /// POST. A POST whose body cannot be sent again fails, unless another request was made before.
  ///
  /// The supported algorithms are SHA-256, SHA-512-256 and MD5, each also as `-sess`; of several, the first that is not
  /// MD5 is used. The protection is `auth`, or `auth-int` if the server offers nothing else and the body is in memory.
  /// `userhash`, `charset`, `opaque` and `nextnonce` are honoured. `domain` is ignored, because the origins determine
  /// where credentials are sent.
  ///
  /// A digest hides only the password. Over `http`, a machine on the network path can change the contents, and can try
  /// to guess weak passwords offline (RFC 7616 §5).
  ///
  /// - Parameters:
  ///   - user: the user name, sent in UTF-8 without normalization.
  ///   - password: the password, used in UTF-8 without normalization.
  ///   - origins: the origins whose challenges are answered; at least one. `http` is allowed.
  ///   - allowsMD5: whether MD5 is used if the server offers nothing better. Default `true`, because most servers
  ///     support only MD5.
  /// - Throws: ``ConfigurationError`` if there is no origin, or if the user name or the password has control
  ///   characters.
  public static func digest(
    user: String, password: Secret, origins: [Origin], allowsMD5: Bool = true
  ) throws(ConfigurationError) -> Self {
    StandardInterceptor(try DigestAuthenticator(user: user, password: password, origins: origins, allowsMD5: allowsMD5))
  }
}
