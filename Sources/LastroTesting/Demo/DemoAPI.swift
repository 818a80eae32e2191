// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A small, realistic JSON API on an embedded loopback HTTPS server: what demos, playgrounds and examples talk to.
///
/// | request | answer |
/// |---|---|
/// | `GET /users/{login}` | a user; 404 |
/// | `GET /users/{login}/repos?page=&per_page=` | a page of repositories, with `Link`; 404; 422 |
/// | `GET /repos/{owner}/{name}` | a repository; 404 |
/// | `GET /repos/{owner}/{name}/archive?bytes=N` | N bytes that count from 0 to 255, over and over; 404, 422 |
/// | `POST /repos/{owner}/{name}/issues` | 201 with the issue; 400, 404, 422 |
/// | `PATCH /repos/{owner}/{name}/issues/{number}` | 204; 404 |
/// | `GET /flaky/{key}?failures=N` | 503 the first N times for that key, then 200 |
/// | `GET /slow` | never |
/// | `GET /private` | 200 with `Authorization: Bearer` and ``token`` or an issued one that is live, else 401 |
/// | `POST /oauth/token` | an access token (RFC 6749 §5.1), see below |
/// | `GET /limited/{key}?retry_after=N` | 429 with `Retry-After: N` the first time for that key, then 200; 422 |
/// | `POST /payments?failures=N` | 503 the first N times for that `Idempotency-Key`, then 201; 400, 422 |
///
/// A payment is `{"amount":…, "currency":…}`. A key that comes again with the same body gets the same answer, with
/// `Idempotency-Replayed: true`, and is not counted again; with another body it gets 422. Without a key each counts.
///
/// The token endpoint takes the grants `client_credentials` and `refresh_token` from the client ``clientID``, which
/// authenticates by Basic or in the body. A refresh token is replaced when it is used; one that comes a second time
/// ends those that replaced it. Errors there are those of RFC 6749 §5.2: `invalid_request`, `invalid_client` (401),
/// `invalid_grant`, `unsupported_grant_type`.
///
/// Errors are `{"message":…, "documentation_url":…, "errors":[{"field":…, "code":…}]}`.
public final class DemoAPI: Sendable {
  /// Most bytes of an archive: 64 MiB.
  public static let largestArchive = 64 << 20

  /// The token ``baseURL``'s `/private` wants.
  public let token: String
  /// PEM text of the root that issued the server's certificate.
  public let caPEM: String

  /// The OAuth 2.0 client the token endpoint knows.
  public let clientID: String
  /// Its secret.
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
  ///   - listener: where it listens. Default a port of the kernel's choice.
  ///   - hosts: more names and addresses of the certificate, so that it may stand for another server. Default none.
  ///   - token: what `/private` wants, for ever. Default `demo-token`.
  ///   - clientID: the OAuth 2.0 client. Default `demo-client`.
  ///   - clientSecret: its secret. Default `demo-secret`.
  ///   - tokenLifetime: of issued access tokens, in seconds; 0 or less makes them expired from the start. Default 3600.
  ///   - time: what issued tokens age by. Default the system's.
  /// - Throws: ``CertificateError``, ``LoopbackError``.
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

  /// Such as `https://localhost:40123`; without a port on a Unix socket.
  public var baseURL: String { server.baseURL }

  /// Every request so far, in order.
  public var requests: [LoopbackRequest] { server.requests }

  /// Waits until so many requests have come.
  ///
  /// - Throws: `CancellationError`; ``LoopbackError/stopped``.
  @discardableResult
  public func waitForRequests(count: Int) async throws -> [LoopbackRequest] {
    try await server.waitForRequests(count: count)
  }

  // MARK: tokens and payments

  /// Lifetime of access tokens issued from now on, in seconds; 0 or less makes them expired from the start.
  public var tokenLifetime: Int {
    get { tokens.lifetime }
    set { tokens.lifetime = newValue }
  }

  /// Requests the token endpoint got, refused ones included.
  public var tokenRequests: Int { tokens.requests }
  /// Access tokens the token endpoint issued.
  public var tokensIssued: Int { tokens.grants }
  /// Payments made; a replayed answer makes none.
  public var paymentsMade: Int { payments.made }

  /// Makes a refresh token, as if a user had just given their consent.
  public func makeRefreshToken() -> String { tokens.makeRefreshToken() }

  /// Ends every issued access token at once; refresh tokens stay good, and so does ``token``.
  public func revokeTokens() { tokens.revokeAccess() }

  /// Ends every refresh token at once.
  public func revokeRefreshTokens() { tokens.revokeRefresh() }

  /// Stops the server. May be called more than once; dropping the object does it too.
  public func stop() { server.stop() }
}
