// SPDX-License-Identifier: Apache-2.0

/// A small, realistic JSON API on an embedded loopback HTTPS server: what demos, playgrounds and examples talk to.
///
/// | request | answer |
/// |---|---|
/// | `GET /users/{login}` | a user; 404 |
/// | `GET /users/{login}/repos?page=&per_page=` | a page of repositories, with `Link`; 404; 422 |
/// | `GET /repos/{owner}/{name}` | a repository; 404 |
/// | `GET /repos/{owner}/{name}/archive?bytes=N` | N bytes that count from 0 to 255, over and over; 404, 422 |
/// | `POST /repos/{owner}/{name}/issues` | 201 with the issue; 400, 404, 422 |
/// | `GET /flaky/{key}?failures=N` | 503 the first N times for that key, then 200 |
/// | `GET /slow` | never |
/// | `GET /private` | 200 with `Authorization: Bearer` and the token, else 401 |
///
/// Errors are `{"message":…, "documentation_url":…, "errors":[{"field":…, "code":…}]}`.
public final class DemoAPI: Sendable {
  /// Most bytes of an archive: 64 MiB.
  public static let largestArchive = 64 << 20

  /// The token ``baseURL``'s `/private` wants.
  public let token: String
  /// PEM text of the root that issued the server's certificate.
  public let caPEM: String

  private let server: LoopbackServer

  private init(token: String, caPEM: String, server: LoopbackServer) {
    self.token = token
    self.caPEM = caPEM
    self.server = server
  }

  /// Mints a root and a certificate for `localhost` and `127.0.0.1`, and starts the server on a free port.
  ///
  /// - Parameter token: what `/private` wants. Default `demo-token`.
  /// - Throws: ``CertificateError``, ``LoopbackError``.
  public static func start(token: String = "demo-token") throws -> DemoAPI {
    let root = try CertificateAuthority(commonName: "Demo root")
    let identity = try root.issue(hosts: ["localhost", "127.0.0.1"])
    let routes = DemoRoutes(token: token)
    let server = try LoopbackServer.http(tls: LoopbackTLS(identity)) { try routes.respond(to: $0) }
    return DemoAPI(token: token, caPEM: root.rootPEM, server: server)
  }

  /// Such as `https://localhost:40123`.
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

  /// Stops the server. May be called more than once; dropping the object does it too.
  public func stop() { server.stop() }
}
