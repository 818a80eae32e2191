// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroObservability
import LastroResilience
import LastroTesting
import Logging
import MetricsTestKit

/// Recipes for state that calls share, for load, and for what operators see.
enum ServiceRecipes {
  static func run(_ recipes: RecipeStage) async throws {
    try await state(recipes)
    try await load(recipes)
    try await observers(recipes)
  }

  private static func state(_ recipes: RecipeStage) async throws {
    let (engine, configuration) = (recipes.engine, recipes.configuration)
    await recipes.check("cookies", prints: ["session=31d4"]) { try await cookies(engine, configuration) }
    await recipes.check("cache", prints: ["missed", "hit"]) { try await cache(engine, configuration) }
    await recipes.check("conditional", prints: ["unchanged 304"]) { try await conditional(recipes.api) }
  }

  private static func load(_ recipes: RecipeStage) async throws {
    let (engine, configuration) = (recipes.engine, recipes.configuration)
    let expected = Array(repeating: "unexpected_status", count: 4) + ["circuit_open"]
    await recipes.check("breaker", prints: expected) { try await breaker(engine, configuration) }
    await recipes.check("limiter", prints: ["200"]) { try await limiter(engine, configuration) }
    await recipes.check("hedge", prints: ["here"]) { try await hedge(engine, configuration) }
  }

  private static func observers(_ recipes: RecipeStage) async throws {
    let (engine, configuration) = (recipes.engine, recipes.configuration)
    let lines = EventRecorder<String>()
    let logger = Logger(label: "shop") { _ in LineHandler(lines: lines) }
    await recipes.check("logging", prints: []) { try await logging(engine, configuration, logger) }
    recipes.stage.check("one line for the call", lines.events.count == 1)
    let factory = TestMetrics()
    await recipes.check("metrics", prints: []) { try await metrics(engine, configuration, factory) }
    recipes.stage.check(
      "a duration is recorded", factory.recorders.contains { $0.label == "http.client.request.duration" })
    let path = "\(recipes.folder)/calls.har"
    await recipes.check("HAR", prints: []) { try await archive(engine, configuration, path) }
    let replay = try HARReplayTransport(contentsOfFile: path)
    recipes.stage.check("the call is in the archive", replay.remainingEntries == 1)
  }

  private static func cookies(_ engine: CurlConfiguration, _ configuration: StackConfiguration) async throws {
    var configuration = configuration
    // sample: cookies
    configuration.cookies = CookieJar()
    let api = try CurlNetworkStack(engine, configuration: configuration)
    _ = try await api.fetch(.send(.post, "/login", body: .form(["user": "ann"])))
    print(try await api.fetch(.text("/account")).value)
    // end
  }

  private static func cache(_ engine: CurlConfiguration, _ configuration: StackConfiguration) async throws {
    var configuration = configuration
    // sample: cache
    configuration.cache = HTTPCache()
    let api = try CurlNetworkStack(engine, configuration: configuration)
    for _ in 1...2 {
      let answer = try await api.fetch(.text("/rates"))
      print(answer.response.facts.cache?.rawValue ?? "")
    }
    // end
  }

  private static func conditional(_ api: CurlNetworkStack) async throws {
    // sample: conditional
    let rates = HTTPResource<[String: Double], Problem>.get("/rates")
    let first = try await api.fetch(rates)
    let again = try await api.fetch(rates.ifModified(since: first.response))  // by ETag or Last-Modified
    print(again.value == nil ? "unchanged" : "changed", again.response.status.code)
    // end
  }

  private static func breaker(_ engine: CurlConfiguration, _ configuration: StackConfiguration) async throws {
    var configuration = configuration
    // sample: breaker
    let breaker = try CircuitBreaker(minimumCalls: 4, failureRatio: 0.5)
    configuration.resilience = Resilience(breaker: breaker)
    let api = try CurlNetworkStack(engine, configuration: configuration)
    for _ in 1...5 {
      do { _ = try await api.fetch(.text("/down")) } catch { print(error.code) }
    }
    // end
  }

  private static func limiter(_ engine: CurlConfiguration, _ configuration: StackConfiguration) async throws {
    var configuration = configuration
    // sample: limiter
    let limiter = try ConcurrencyLimiter(limit: 8, queueCapacity: 100, maximumWait: .seconds(2))
    configuration.resilience = Resilience(limiter: limiter)  // eight requests at a time to each origin
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/log")).response.status.code)
    // end
  }

  private static func hedge(_ engine: CurlConfiguration, _ configuration: StackConfiguration) async throws {
    var configuration = configuration
    // sample: hedge
    let hedger = try Hedger(delay: .percentile(0.95, fallback: .milliseconds(50)))
    configuration.resilience = Resilience(hedger: hedger)
    let api = try CurlNetworkStack(engine, configuration: configuration)
    print(try await api.fetch(.text("/uneven")).value)
    // end
  }

  private static func logging(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ logger: Logger
  ) async throws {
    var configuration = configuration
    // sample: logging
    configuration.observers = [.logging(to: logger)]  // one line for each call
    let api = try CurlNetworkStack(engine, configuration: configuration)
    _ = try await api.fetch(.text("/log"))
    // end
  }

  private static func metrics(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ factory: any MetricsFactory
  ) async throws {
    var configuration = configuration
    // sample: metrics
    configuration.observers = [.metrics(factory: factory)]  // the default is that of MetricsSystem
    let api = try CurlNetworkStack(engine, configuration: configuration)
    _ = try await api.fetch(.text("/log"))
    // end
  }

  private static func archive(
    _ engine: CurlConfiguration, _ configuration: StackConfiguration, _ path: String
  ) async throws {
    var configuration = configuration
    // sample: HAR
    let recorder = HARRecorder()
    configuration.observers = [recorder]
    let api = try CurlNetworkStack(engine, configuration: configuration)
    _ = try await api.fetch(.text("/log"))
    try recorder.har().write(to: URL(filePath: path))
    // end
  }
}

/// A log handler that records messages.
private struct LineHandler: LogHandler {
  let lines: EventRecorder<String>
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.trace

  init(lines: EventRecorder<String>) { self.lines = lines }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { lines.record("\(event.message)") }
}
