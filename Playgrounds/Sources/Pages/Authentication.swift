// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting

private func service(stack: any HTTPNetworkStack, secret: Secret) throws -> BearerAuthenticator {
  // sample: client credentials
  let client = try OAuth2Client(
    tokenURL: "https://api.github.com/oauth/token", id: "demo-client", authentication: .basic(secret))
  let authenticator = try BearerAuthenticator(
    source: client.clientCredentials(scope: "read", stack: stack),
    origins: [Origin("https://api.github.com")])
  // end
  return authenticator
}

private func github(
  _ engine: CurlConfiguration, client: OAuth2Client
) throws -> CurlNetworkStack {
  // sample: assembly
  let tokens = try client.clientCredentials(scope: "read")
  let authenticator = try BearerAuthenticator(source: tokens, origins: [Origin("https://api.github.com")])
  let github = try CurlNetworkStack(
    engine, configuration: StackConfiguration(interceptors: [authenticator, .retry]))
  // end
  return github
}

private func fixed(token: Secret) throws -> StackConfiguration {
  // sample: fixed token
  let configuration = StackConfiguration(interceptors: [try .bearer(token, for: "https://api.github.com")])
  // end
  return configuration
}

private func user(
  client: OAuth2Client, refreshToken: Secret, stack: any HTTPNetworkStack, keep: @escaping @Sendable (Secret) -> Void,
  origins: [Origin]
) throws -> BearerAuthenticator {
  // sample: refresh token
  let source = try client.refreshToken(refreshToken, stack: stack) { next in
    keep(next)  // the old one is spent: persist this before anything else
  }
  let authenticator = try BearerAuthenticator(source: source, origins: origins)
  // end
  return authenticator
}

private func custom(origins: [Origin], vault: @escaping @Sendable () async throws -> Secret) throws
  -> BearerAuthenticator
{
  // sample: custom
  let authenticator = try BearerAuthenticator(origins: origins) { _ in
    let secret = try await vault()
    return try AccessToken(secret, expiresIn: .seconds(300))
  }
  // end
  return authenticator
}

private func others(password: Secret, key: Secret, origins: [Origin]) throws -> [any HTTPResourceInterceptor] {
  // sample: others
  let basic = try StandardInterceptor.basic(user: "ci", password: password, origins: origins)
  let digest = try StandardInterceptor.digest(user: "ci", password: password, origins: origins)
  let header = try StandardInterceptor.apiKey(key, header: "X-API-Key", origins: origins)
  let query = try StandardInterceptor.apiKey(key, queryItem: "key", origins: origins)
  // end
  return [basic, digest, header, query]
}

// sample: existing client
/// The OAuth client that the program has already.
actor SessionClient {
  private var token = Secret("expired")
  private let renew: @Sendable () async throws -> Secret

  init(renew: @escaping @Sendable () async throws -> Secret) { self.renew = renew }

  func current() -> Secret { token }

  func renewed() async throws {
    token = try await renew()
  }
}

/// Two declarations make an interceptor of it.
extension SessionClient: RequestAuthenticator, HTTPResourceInterceptor {
  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    try request.setHeader("Authorization", current(), prefix: "Bearer ")
    return request
  }

  func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action {
    guard response?.status == .unauthorized, retryState.retryCount == 0 else { return .none }
    do {
      try await renewed()
      return .retry
    } catch {
      return .noRetry(.custom(error))
    }
  }
}
// end

// sample: none
/// It need not react to failures: it leaves that function out, whose default is `.none`.
struct TenantAuthenticator: RequestAuthenticator, HTTPResourceInterceptor {
  let tenant: Secret

  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    try request.setHeader("X-Tenant", tenant)
    return request
  }
}
// end

extension Page {
  static let authentication = Page("Authentication") { stage in
    let plain = try stage.github()
    let origins = [try Origin("https://api.github.com")]
    try await storm(stage, plain)

    let client = try OAuth2Client(
      tokenURL: "https://api.github.com/oauth/token", id: "demo-client", authentication: .body("demo-secret"))
    let assembled = try github(stage.engine, client: client)
    _ = try await assembled.fetch(.text(at: "/private"))
    stage.check("one engine asks for the token and for what it is for", assembled.activeTransfers == 0)
    let fixed = try stage.github(fixed(token: "demo-token"))
    _ = try await fixed.fetch(.text(at: "/private"))

    let kept = EventRecorder<Secret>()
    let consent: Secret = "demo-refresh-token"
    let user = try user(
      client: client, refreshToken: consent, stack: plain, keep: { kept.record($0) }, origins: origins)
    _ = try await plain.fetch(.text(at: "/private", through: [user]))
    stage.check("a refresh token was replaced, and kept", kept.events.count == 1 && kept.events.first != consent)

    let token: Secret = "demo-token"
    let custom = try custom(origins: origins) { token }
    _ = try await plain.fetch(.text(at: "/private", through: [custom]))
    let session = SessionClient { token }
    let answer = try await plain.fetch(.text(at: "/private", through: [session]))
    stage.check(
      "an existing client renews after a 401", answer.response.ledger.attempts.map(\.status?.code) == [401, 200])

    let refused = HTTPResource<String, GitHubError>.text(
      at: "/private", through: [TenantAuthenticator(tenant: "acme")])
    if let error = await stage.failure(of: refused, from: plain) {
      stage.check(
        "without an opinion a 401 stands", error.statusCode == .unauthorized && error.ledger.attempts.count == 1)
    }
    for interceptor in try others(password: "password", key: "a key", origins: origins) {
      _ = try await plain.fetch(.text(at: "/users/octocat", through: [interceptor]))
    }
    let sent = stage.server.requests.suffix(4)
    stage.check(
      "Basic, Digest, and keys in header and query",
      sent.map { $0.headers["Authorization"] } == ["Basic Y2k6cGFzc3dvcmQ=", nil, nil, nil]
        && sent.map { $0.headers["X-API-Key"] } == [nil, nil, "a key", nil]
        && sent.last?.target == "/users/octocat?key=a%20key")
  }

  /// Checks that 200 calls that are rejected at the same time lead to a single token request.
  private static func storm(_ stage: Stage, _ plain: any HTTPNetworkStack) async throws {
    let authenticator = try service(stack: plain, secret: "demo-secret")
    var configuration = StackConfiguration()
    configuration.interceptors = [authenticator]
    let github = try stage.github(configuration)
    _ = try await github.fetch(.text(at: "/private"))
    stage.check("the first request waits for a token", stage.tokenRequests == 1)
    _ = try await plain.fetch(.text(.delete, at: "/oauth/tokens"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<200 { group.addTask { _ = try await github.fetch(.text(at: "/private")) } }
      try await group.waitForAll()
    }
    say("requests for a token: \(stage.tokenRequests)")
    stage.check("200 refused calls lead to one more", stage.tokenRequests == 2)
  }
}
