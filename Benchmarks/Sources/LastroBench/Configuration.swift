// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import FoundationEssentials
import Lastro
import LastroCurl
import Logging

extension CurlConfiguration {
  /// Returns the default configuration, except for settings that would prevent a scenario.
  static func bench(_ arguments: Arguments) throws -> CurlConfiguration {
    var engine = CurlConfiguration()
    if let loops = try arguments.number("loops") { engine.loops = loops }
    // By default, HTTP/2 is used over TLS if the server offers it.
    engine.connection.httpVersion = try arguments.isHTTP2 ? .automatic : .http1
    if let file = arguments["ca"] { engine.connection.tls.roots = .file(file) }
    engine.connection.tls.trustJudge = try judge(arguments)
    // With `dialer=`, the dialer connects to the proxy.
    if let proxy = arguments["proxy"], arguments["dialer"] == nil {
      engine.connection.proxy = .url("socks5h://\(proxy)")
    }
    switch arguments.scenario {
    case .cancel:
      // By default all requests except 128 would wait in a queue, where cancelling them costs almost nothing.
      engine.connectionsPerHost = try arguments.requests
    case .idle:
      // By default all idle connections except 256 would be closed, and all of them after a minute. The limit is twice
      // the number, to leave room for connections that are opened in vain.
      engine.idleConnections = try 2 * (arguments.number("connections") ?? 0) + arguments.concurrency
      engine.idleLifetime = .seconds(3600)
    default: break
    }
    return engine
  }

  /// Returns a judge that pins the keys of `pins=` for the host of `url=` only; `nil` without `pins=`.
  private static func judge(_ arguments: Arguments) throws -> ServerTrustEvaluator? {
    guard let list = arguments["pins"] else { return nil }
    let pins = Set(list.split(separator: ",").map(String.init))
    guard let authority = try ResourceRequest(url: try arguments.required("url")).head.authority,
      let host = authority.split(separator: ":").first.map(String.init)
    else { throw BenchFailure.failed("url= has no host") }
    let policy = try PinningPolicy(host, pins: pins, enforceBackupPin: pins.count > 1)
    return ServerTrustEvaluator(configuration: try .init(pinningPolicies: [policy]))
  }
}

extension StackConfiguration {
  /// Returns a configuration with the interceptors that most services use: one that logs, here with its logger switched
  /// off, and one that retries. The interceptors of `interceptors=` and `waiting=` follow.
  static func bench(_ arguments: Arguments) throws -> StackConfiguration {
    let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
    var configuration = StackConfiguration()
    configuration.interceptors = [.logging(logger), .retry]
    for _ in 0..<(try arguments.number("interceptors") ?? 0) { configuration.interceptors.append(PromptInterceptor()) }
    for _ in 0..<(try arguments.number("waiting") ?? 0) { configuration.interceptors.append(WaitingInterceptor()) }
    return configuration
  }
}

/// An interceptor that implements every hook and does nothing in it. An interceptor without hooks would cost nothing.
private protocol IdleInterceptor: HTTPResourceInterceptor {}

extension IdleInterceptor {
  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> { result }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {}

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {}

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action { .none }
}

/// An interceptor that declares that its hooks never wait.
private struct PromptInterceptor: IdleInterceptor {
  var hooksWait: Bool { false }
}

/// An interceptor whose hooks may wait, so each runs in a separate task.
private struct WaitingInterceptor: IdleInterceptor {}
