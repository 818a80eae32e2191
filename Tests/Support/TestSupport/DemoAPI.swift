// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroTesting

/// The server of `LoopbackServer.demo(port:unixSocketPath:tls:time:)` with a certificate of its own. Its credentials
/// and lifetimes can be chosen, and its state can be read.
package final class DemoAPI: Sendable {
  /// The token that `/private` of ``baseURL`` requires.
  package let token: String
  /// The PEM text of the root that issued the server's certificate.
  package let caPEM: String

  /// The ID of the OAuth 2.0 client that the token endpoint knows.
  package let clientID: String
  /// The secret of that client.
  package let clientSecret: String

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
  ///   - port: the port of 127.0.0.1 to listen on. Default 0: the kernel chooses one.
  ///   - unixSocketPath: the path of a Unix socket to listen on, in place of a port: at most 107 bytes. It must not
  ///     exist yet, and is removed when the server stops. Default: none.
  ///   - hosts: additional names and addresses of the certificate, so that it can represent another server. Default:
  ///     none.
  ///   - token: the token that `/private` requires, which never expires. Default `demo-token`.
  ///   - clientID: the ID of the OAuth 2.0 client. Default `demo-client`.
  ///   - clientSecret: the secret of that client. Default `demo-secret`.
  ///   - tokenLifetime: the lifetime of issued access tokens in seconds; with 0 or less they are expired from the
  ///     start. Default 3600.
  ///   - time: the time source for the expiry of tokens. Default: the system's.
  /// - Throws: `LoopbackError`.
  package static func start(
    port: UInt16 = 0, unixSocketPath: String? = nil, hosts: [String] = [],
    token: String = "demo-token", clientID: String = "demo-client", clientSecret: String = "demo-secret",
    tokenLifetime: Int = 3600, time: TimeSource = .continuous
  ) throws -> DemoAPI {
    let root = try CertificateAuthority(commonName: "Demo root")
    let identity = try root.issue(hosts: ["localhost", "127.0.0.1"] + hosts)
    let tokens = DemoTokens(lifetime: tokenLifetime, time: time)
    let endpoint = DemoTokenEndpoint(clientID: clientID, clientSecret: clientSecret, tokens: tokens)
    let routes = DemoRoutes(token: token, endpoint: endpoint)
    let server = try LoopbackServer.http(port: port, unixSocketPath: unixSocketPath, tls: LoopbackTLS(identity)) {
      try routes.respond(to: $0)
    }
    return DemoAPI(token: token, caPEM: root.rootPEM, server: server, endpoint: endpoint, routes: routes)
  }

  /// The base URL, such as `https://localhost:40123`; without a port on a Unix socket.
  package var baseURL: String { server.baseURL }

  /// The requests received so far, in order.
  package var requests: [LoopbackRequest] { server.requests }

  /// Waits until the given number of requests has arrived.
  ///
  /// - Throws: `CancellationError`; `LoopbackError.stopped`.
  @discardableResult
  package func waitForRequests(count: Int) async throws -> [LoopbackRequest] {
    try await server.waitForRequests(count: count)
  }

  // MARK: tokens and payments

  /// The lifetime in seconds of access tokens issued from now on; with 0 or less they are expired from the start.
  package var tokenLifetime: Int {
    get { tokens.lifetime }
    set { tokens.lifetime = newValue }
  }

  /// The number of requests to the token endpoint, including refused ones.
  package var tokenRequests: Int { tokens.requests }
  /// The number of access tokens that the token endpoint issued.
  package var tokensIssued: Int { tokens.grants }
  /// The number of payments made; a replayed response makes none.
  package var paymentsMade: Int { payments.made }

  /// Creates a refresh token, as if a user had given consent.
  package func makeRefreshToken() -> String { tokens.makeRefreshToken() }

  /// Revokes every issued access token; refresh tokens and ``token`` remain valid.
  package func revokeTokens() { tokens.revokeAccess() }

  /// Revokes every refresh token.
  package func revokeRefreshTokens() { tokens.revokeRefresh() }

  /// Stops the server. It may be called more than once; dropping the object stops the server too.
  package func stop() { server.stop() }
}
