// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroEveryday
import LastroFleet
import LastroResilience
import LastroTesting

private func first(
  stack: CurlNetworkStack, client: OAuth2Client, key: SealingKey, password: Secret, refreshToken: Secret
) throws -> BearerAuthenticator {
  // sample: first
  let store = try RedisStore("rediss://fleet.internal:6380", dialer: stack.dialer, user: "fleet", password: password)
  let tokens = try client.refreshToken(refreshToken, stack: stack).shared(in: store, as: "github", sealedWith: key)
  let authenticator = try BearerAuthenticator(source: tokens, origins: [Origin("https://api.github.com")])
  // end
  return authenticator
}

private func quotaAndBreaker(_ store: some FleetStore, _ configuration: inout StackConfiguration) async throws {
  // sample: quota
  let pacer = try Pacer(perSecond: 50, burst: 500).shared(in: store, as: "github", whenUnshared: .fraction(of: 20))
  configuration.resilience = Resilience(pacer: pacer)
  // end
  // sample: breaker
  configuration.resilience?.breaker = try CircuitBreaker().shared(in: store, as: "shop")
  // end
  // sample: leave
  await pacer.leave()
  // end
}

private func cache(_ store: RedisStore, _ key: SealingKey, _ configuration: inout StackConfiguration) throws {
  // sample: cache
  configuration.cache = try HTTPCache().shared(in: store, as: "shop", sealedWith: key)
  // end
  // sample: cacheoptions
  let cache = HTTPCache(maximumBytes: 32 * 1024 * 1024, staleWhenUnreachable: .seconds(600))
  configuration.cache = try cache.shared(
    in: store, as: "shop", sealedWith: key, maximumSharedBytes: 64 * 1024, patience: .seconds(1))
  // end
}

private func key(from environment: [String: String]) throws -> SealingKey {
  // sample: key
  let key = try SealingKey(base64: Secret(environment["FLEET_KEY"] ?? ""))
  // end
  return key
}

private func failover(_ stack: CurlNetworkStack, password: Secret) throws -> RedisStore {
  // sample: failover
  let store = try RedisStore(
    ["rediss://one.internal:6380", "rediss://two.internal:6380"], dialer: stack.dialer, user: "fleet",
    password: password, timeout: .milliseconds(500))
  // end
  return store
}

private func sentinels(_ stack: CurlNetworkStack, password: Secret) throws -> RedisStore {
  // sample: sentinels
  let store = try RedisStore(
    "redis+sentinel://one.internal,two.internal,three.internal/fleet", dialer: stack.dialer, user: "fleet",
    password: password)
  // end
  return store
}

private func identityFiles(_ engine: inout CurlConfiguration) {
  // sample: files
  engine.connection.tls.identity = TLSOptions.Identity(
    certificate: .file("/run/id/svid.pem"), key: .file("/run/id/key.pem"))
  engine.connection.tls.roots = .file("/run/id/bundle.pem")
  // end
}

private func spiffePeer(_ engine: inout CurlConfiguration) throws {
  // sample: peer
  engine.connection.tls.identity = TLSOptions.Identity(
    certificate: .file("/run/spiffe/svid.pem"), key: .file("/run/spiffe/svid_key.pem"))
  engine.connection.tls.roots = .file("/run/spiffe/bundle.pem")
  engine.connection.tls.peer = .spiffe([try SPIFFEID("spiffe://example.org/shop/orders")])
  // end
}

private func pushedIdentity(
  _ engine: inout CurlConfiguration, chain: [UInt8], privateKey: [UInt8],
  renewals: AsyncStream<(chain: [UInt8], privateKey: [UInt8])>
) async {
  // sample: pushed
  let identity = RotatingIdentity(TLSOptions.Identity(certificate: .bytes(chain), key: .bytes(privateKey)))
  engine.connection.tls.identity = TLSOptions.Identity(identity)
  for await next in renewals {
    identity.replace(with: TLSOptions.Identity(certificate: .bytes(next.chain), key: .bytes(next.privateKey)))
  }
  // end
}

/// Two instances of a service with one store, over scripted token endpoints.
private func twoInstances(folder: String, key: SealingKey) async throws -> [String] {
  // sample: instances
  let endpoint = ScriptedTransport([
    .respond(
      status: 200, headers: [.contentType: "application/json"],
      body: #"{"access_token": "a1", "token_type": "Bearer", "expires_in": 600, "refresh_token": "r2"}"#)
  ])
  let client = try OAuth2Client(tokenURL: "https://login.example/token", id: "shop", authentication: .none)
  func instance() throws -> some AccessTokenSource {
    let store = try FileStore(folder: folder)
    return try client.refreshToken("r1", stack: TransportNetworkStack(transport: endpoint))
      .shared(in: store, as: "github", sealedWith: key)
  }
  let one = try await instance().token(replacing: nil)
  let other = try await instance().token(replacing: nil)
  print(endpoint.requests.count, "request, the same token:", one.value == other.value)
  // end
  return [one.value.reveal(), other.value.reveal()]
}

extension Page {
  static let runningManyInstances = Page("RunningManyInstances") { stage in
    let key = try key(from: ["FLEET_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])
    let stack = try CurlNetworkStack()
    let client = try OAuth2Client(tokenURL: "https://login.example/token", id: "shop", authentication: .none)
    _ = try first(stack: stack, client: client, key: key, password: "hidden-p", refreshToken: "hidden-r")
    _ = try failover(stack, password: "hidden-p")
    _ = try sentinels(stack, password: "hidden-p")
    var engine = CurlConfiguration()
    try spiffePeer(&engine)
    stage.check("a SPIFFE ID is required", engine.connection.tls.peer != .hostName)
    identityFiles(&engine)
    await pushedIdentity(
      &engine, chain: [1], privateKey: [2],
      renewals: AsyncStream { renewals in
        renewals.yield((chain: [3], privateKey: [4]))
        renewals.finish()
      })
    stage.check("the certificate is the latest", engine.connection.tls.identity?.certificate == .bytes([3]))
    let folder = FileManager.default.temporaryDirectory.appending(path: "fleet-\(UInt64.random(in: 0 ... .max))")
    defer { try? FileManager.default.removeItem(at: folder) }
    var values: [String] = []
    try await stage.prints("instances") { values = try await twoInstances(folder: folder.path, key: key) }
    var configuration = StackConfiguration()
    try await quotaAndBreaker(FileStore(folder: folder.path), &configuration)
    try cache(RedisStore("redis://localhost", dialer: stack.dialer), key, &configuration)
    stage.check("both instances have the token of one request", values == ["a1", "a1"])
  }
}
