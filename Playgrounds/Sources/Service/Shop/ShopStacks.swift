// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroFleet
import LastroObservability
import LastroResilience

/// The composition root: one engine, and a stack for each API on it. Only this type depends on libcurl.
struct ShopStacks: Sendable {
  /// The stack that owns the engine and shuts it down. The service group runs it.
  let engine: CurlNetworkStack
  /// The evaluator of the pins of the price server. The pins can be replaced while the service runs.
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

    var policy = StackConfiguration(interceptors: [.retry])
    // A breaker detects a server that hangs only by the limit of an attempt. The limit of the call does not count.
    policy.timeouts = try Timeouts(connect: .seconds(2), attempt: .seconds(2), idle: .seconds(2), total: .seconds(5))
    policy.timeSource = settings.time
    policy.resilience = try Self.resilience(failures: 10, settings)
    policy.observers = [.metrics(factory: metrics)]

    let tokens = settings.stack(engine, policy)
    var authenticated = policy
    authenticated.interceptors.insert(try Self.authenticator(settings, asking: tokens), at: 0)
    if let shared = settings.shared { authenticated.resilience?.pacer = try Self.pacer(shared, settings) }
    prices = settings.stack(engine, authenticated)

    var cached = policy
    // The shop's requests do not depend on the user, so all users can share a cached response.
    cached.cache = HTTPCache(partitioning: .common)
    // Few requests pass the cache, and they must be enough to detect a server that hangs.
    cached.resilience = try Self.resilience(failures: 4, settings)
    stock = settings.stack(engine, cached)

    // There are no retries here, because the shop tries the other server instead.
    var single = policy
    single.interceptors = []
    rates = settings.stack(engine, single)
  }

  /// Returns the pinning configuration, which a real service would read from a file again on SIGHUP.
  static func pinning(_ pins: [String]) throws -> ServerTrustEvaluator.Configuration {
    try .init(
      pinningPolicies: [PinningPolicy("prices.example.com", pins: pins)],
      allowNotPinnedDomains: true)
  }

  private static func resilience(failures: Int, _ settings: ShopSettings) throws -> Resilience {
    Resilience(
      breaker: try CircuitBreaker(minimumCalls: failures, consecutiveFailures: failures, time: settings.time))
  }

  private static func authenticator(
    _ settings: ShopSettings, asking stack: any HTTPNetworkStack
  ) throws -> BearerAuthenticator {
    let origin = try Origin("\(settings.prices)")
    let client = try OAuth2Client(
      tokenURL: "\(origin)/oauth/token", id: settings.client, authentication: .basic(settings.secret))
    let source = try client.clientCredentials(scope: "prices", stack: stack)
    guard let shared = settings.shared else {
      return try BearerAuthenticator(source: source, origins: [origin], timeSource: settings.time)
    }
    return try BearerAuthenticator(
      source: source.shared(in: shared.store, as: "prices", sealedWith: shared.key, time: settings.time),
      origins: [origin], timeSource: settings.time)
  }

  private static func pacer(_ shared: SharedState, _ settings: ShopSettings) throws -> Pacer {
    try Pacer(perSecond: shared.pricesPerSecond, burst: shared.pricesInBurst, time: settings.time)
      .shared(in: shared.store, as: "prices", whenUnshared: .fraction(of: shared.instances))
  }
}
