// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroObservability
import LastroResilience

/// The composition root: one engine, and a stack for each API over it. Nothing else knows of libcurl.
struct ShopStacks: Sendable {
  /// Whose end is the engine's: the service group runs it.
  let engine: CurlNetworkStack
  /// Which keys the prices' server may present: it takes others while the service runs.
  let pins: ServerTrustEvaluator
  let prices: any HTTPNetworkStack
  let stock: any HTTPNetworkStack
  let rates: any HTTPNetworkStack

  init(_ settings: ShopSettings, metrics: any MetricsFactory) throws {
    pins = ServerTrustEvaluator(configuration: try Self.pinning(settings.pins))
    var configuration = CurlConfiguration()
    configuration.connection = settings.connection
    configuration.connection.tls.trustJudge = pins
    configuration.connectionsPerHost = 32
    engine = try CurlNetworkStack(configuration)

    var policy = StackConfiguration(interceptors: [RetryInterceptor.standard])
    // It is the attempt's limit by which a breaker learns that a server hangs: the whole call's says nothing of it.
    policy.timeouts = try Timeouts(connect: .seconds(2), attempt: .seconds(2), idle: .seconds(2), total: .seconds(5))
    policy.timeSource = settings.time
    policy.resilience = try Self.resilience(failures: 10, settings)
    policy.observers = [MetricsObserver(factory: metrics)]

    let tokens = settings.stack(engine, policy)
    var authenticated = policy
    authenticated.interceptors.insert(try Self.authenticator(settings, asking: tokens), at: 0)
    prices = settings.stack(engine, authenticated)

    var cached = policy
    // The shop asks for itself alone, so that one answer is for all its users.
    cached.cache = HTTPCache(policy: HTTPCachePolicy(partitioning: .common))
    // Few requests pass a cache, and a server that hangs has to be found out with those.
    cached.resilience = try Self.resilience(failures: 4, settings)
    stock = settings.stack(engine, cached)

    // Another server is asked in place of the same once more.
    var single = policy
    single.interceptors = []
    rates = settings.stack(engine, single)
  }

  /// What a service reads from a file again, at SIGHUP.
  static func pinning(_ pins: [String]) throws -> ServerTrustEvaluator.Configuration {
    try .init(
      pinningPolicies: [PinningPolicy("prices.example.com", pins: pins)],
      allowNotPinnedDomains: true)
  }

  private static func resilience(failures: Int, _ settings: ShopSettings) throws -> Resilience {
    let policy = try CircuitBreakerPolicy(minimumCalls: failures, consecutiveFailures: failures)
    return Resilience(breaker: CircuitBreaker(policy: policy, time: settings.time))
  }

  private static func authenticator(
    _ settings: ShopSettings, asking stack: any HTTPNetworkStack
  ) throws -> BearerAuthenticator {
    let origin = try Origin("\(settings.prices)")
    let client = try OAuth2Client(
      tokenURL: "\(origin)/oauth/token", id: settings.client, authentication: .basic(settings.secret))
    return try BearerAuthenticator(
      source: OAuth2ClientCredentials(client: client, scope: "prices", stack: stack), origins: [origin],
      timeSource: settings.time)
  }
}
