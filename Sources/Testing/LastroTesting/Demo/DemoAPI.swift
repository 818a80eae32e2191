// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A small, realistic JSON API on an embedded loopback HTTPS server, for demos, playgrounds and examples.
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
/// | `GET /private` | 200 with `Authorization: Bearer` and ``token`` or a valid issued token, else 401 |
/// | `POST /oauth/token` | an access token (RFC 6749 §5.1), see below |
/// | `GET /limited/{key}?retry_after=N` | 429 with `Retry-After: N` the first time for that key, then 200; 422 |
/// | `POST /payments?failures=N` | 503 the first N times for that `Idempotency-Key`, then 201; 400, 422 |
///
/// A payment is `{"amount":…, "currency":…}`. A repeated key with the same body gets the same response, with
/// `Idempotency-Replayed: true`, and is not counted again; with another body it gets 422. Without a key each payment
/// counts.
///
/// The token endpoint supports the grants `client_credentials` and `refresh_token` for the client ``clientID``, which
/// authenticates by Basic or in the body. A refresh token is replaced when it is used; using it a second time revokes
/// its replacements. The errors are those of RFC 6749 §5.2: `invalid_request`, `invalid_client` (401), `invalid_grant`,
/// `unsupported_grant_type`.
///
/// Errors are `{"message":…, "documentation_url":…, "errors":[{"field":…, "code":…}]}`.
public final class DemoAPI: Sendable {
  /// The maximum size of an archive: 64 MiB.
  static let largestArchive = 64 << 20

  /// The token that `/private` of ``baseURL`` requires.
  public let token: String
  /// The PEM text of the root that issued the server's certificate.
  public let caPEM: String

  /// The ID of the OAuth 2.0 client that the token endpoint knows.
  public let clientID: String
  /// The secret of that client.
  public let clientSecret: String

  private let server: LoopbackServer
  private let tokens: DemoTokens
  private let payments: DemoPayments

  private init(token: String, caPEM: String, server: LoopbackServer, endpoint: DemoTokenEndpoint, routes: DemoRoutes) {
    self.token = token
    self.caPEM = caPEM
    self.server = server
    clientID = endpoint.clientID
    clientSecret = endpoint.clientSecret
    tokens = endpoint.tokens
    payments = routes.payments
  }

  /// Mints a root and a certificate for `localhost` and `127.0.0.1`, and starts the server.
  ///
  /// - Parameters:
  ///   - listener: the endpoint to listen on. Default: a port that the kernel chooses.
  ///   - hosts: additional names and addresses of the certificate, so that it can represent another server. Default:
  ///     none.
  ///   - token: the token that `/private` requires, which never expires. Default `demo-token`.
  ///   - clientID: the ID of the OAuth 2.0 client. Default `demo-client`.
  ///   - clientSecret: the secret of that client. Default `demo-secret`.
  ///   - tokenLifetime: the lifetime of issued access tokens in seconds; with 0 or less they are expired from the
  ///     start. Default 3600.
  ///   - time: the time source for the expiry of tokens. Default: the system's.
  /// - Throws: ``LoopbackError``.
  public static func start(
    on listener: LoopbackEndpoint = .ephemeral, hosts: [String] = [],
    token: String = "demo-token", clientID: String = "demo-client", clientSecret: String = "demo-secret",
    tokenLifetime: Int = 3600, time: TimeSource = .continuous
  ) throws -> DemoAPI {
    let root = try CertificateAuthority(commonName: "Demo root")
    let identity = try root.issue(hosts: ["localhost", "127.0.0.1"] + hosts)
    let tokens = DemoTokens(lifetime: tokenLifetime, time: time)
    let endpoint = DemoTokenEndpoint(clientID: clientID, clientSecret: clientSecret, tokens: tokens)
    let routes = DemoRoutes(token: token, endpoint: endpoint)
    let server = try LoopbackServer.http(listener, tls: LoopbackTLS(identity)) { try routes.respond(to: $0) }
    return DemoAPI(token: token, caPEM: root.rootPEM, server: server, endpoint: endpoint, routes: routes)
  }

  /// The base URL, such as `https://localhost:40123`; without a port on a Unix socket.
  public var baseURL: String { server.baseURL }

  /// The requests received so far, in order.
  public var requests: [LoopbackRequest] { server.requests }

  /// Waits until the given number of requests has arrived.
  ///
  /// - Throws: `CancellationError`; ``LoopbackError/stopped``.
  @discardableResult
  public func waitForRequests(count: Int) async throws -> [LoopbackRequest] {
    try await server.waitForRequests(count: count)
  }

  // MARK: tokens and payments

  /// The lifetime in seconds of access tokens issued from now on; with 0 or less they are expired from the start.
  package var tokenLifetime: Int {
    get { tokens.lifetime }
    set { tokens.lifetime = newValue }
  }

  /// The number of requests to the token endpoint, including refused ones.
  public var tokenRequests: Int { tokens.requests }
  /// The number of access tokens that the token endpoint issued.
  public var tokensIssued: Int { tokens.grants }
  /// The number of payments made; a replayed response makes none.
  public var paymentsMade: Int { payments.made }

  /// Creates a refresh token, as if a user had given consent.
  public func makeRefreshToken() -> String { tokens.makeRefreshToken() }

  /// Revokes every issued access token; refresh tokens and ``token`` remain valid.
  public func revokeTokens() { tokens.revokeAccess() }

  /// Revokes every refresh token.
  public func revokeRefreshTokens() { tokens.revokeRefresh() }

  /// Stops the server. It may be called more than once; dropping the object stops the server too.
  public func stop() { server.stop() }
}
