// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension LoopbackServer {
  /// Starts an HTTPS server with a small, realistic JSON API, for demos and examples.
  ///
  /// | request | response |
  /// |---|---|
  /// | `GET /users/{login}` | a user; 404 |
  /// | `GET /users/{login}/repos?page=&per_page=` | a page of repositories, with `Link`; 404; 422 |
  /// | `GET /repos/{owner}/{name}` | a repository; 404 |
  /// | `GET /repos/{owner}/{name}/archive?bytes=N` | N bytes, up to 64 MiB, that repeat 0 to 255; 404, 422 |
  /// | `POST /repos/{owner}/{name}/issues` | 201 with the issue; 400, 404, 422 |
  /// | `PATCH /repos/{owner}/{name}/issues/{number}` | 204; 404 |
  /// | `GET /flaky/{key}?failures=N` | 503 the first N times for that key, then 200 |
  /// | `GET /slow` | none |
  /// | `GET /private` | 200 with `Authorization: Bearer demo-token` or a valid issued token, else 401 |
  /// | `POST /oauth/token` | an access token (RFC 6749 §5.1), which is valid for an hour, see below |
  /// | `DELETE /oauth/tokens` | the number of access tokens that it has revoked: all that were issued |
  /// | `GET /limited/{key}?retry_after=N` | 429 with `Retry-After: N` the first time for that key, then 200; 422 |
  /// | `POST /payments?failures=N` | 503 the first N times for that `Idempotency-Key`, then 201; 400, 422 |
  /// | `GET /payments` | the number of payments made |
  ///
  /// A payment is `{"amount":…, "currency":…}`. A repeated key with the same body gets the same response, with
  /// `Idempotency-Replayed: true`, and is not counted again; with another body it gets 422. Without a key each payment
  /// counts.
  ///
  /// The token endpoint supports the grants `client_credentials` and `refresh_token` for the client `demo-client` with
  /// the secret `demo-secret`, which authenticates by Basic or in the body. The first refresh token is
  /// `demo-refresh-token`. A refresh token is replaced when it is used; using it a second time revokes its
  /// replacements. The errors are those of RFC 6749 §5.2: `invalid_request`, `invalid_client` (401), `invalid_grant`,
  /// `unsupported_grant_type`.
  ///
  /// Errors are `{"message":…, "documentation_url":…, "errors":[{"field":…, "code":…}]}`.
  ///
  /// - Parameters:
  ///   - port: the port of 127.0.0.1 to listen on. Default 0: the kernel chooses one.
  ///   - unixSocketPath: the path of a Unix socket to listen on, in place of a port: at most 107 bytes. It must not
  ///     exist yet, and is removed when the server stops. Default: none.
  ///   - tls: the TLS options. The server may represent any host that its certificate names.
  ///   - time: the time source for the expiry of tokens. Default: the system's.
  /// - Throws: ``LoopbackError``.
  public static func demo(
    port: UInt16 = 0, unixSocketPath: String? = nil, tls: LoopbackTLS, time: TimeSource = .continuous
  ) throws(LoopbackError) -> LoopbackServer {
    let tokens = DemoTokens(lifetime: 3600, time: time)
    let endpoint = DemoTokenEndpoint(clientID: "demo-client", clientSecret: "demo-secret", tokens: tokens)
    let routes = DemoRoutes(token: "demo-token", endpoint: endpoint)
    return try http(port: port, unixSocketPath: unixSocketPath, tls: tls) { try routes.respond(to: $0) }
  }
}
