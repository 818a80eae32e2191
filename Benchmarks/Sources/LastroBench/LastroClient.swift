// SPDX-License-Identifier: Apache-2.0

import BenchSupport
import HTTPTypes
import Lastro
import LastroCurl
import Logging

/// Lastro by its public API, as a service would use it: the defaults, and an interceptor that logs and one that retries.
@main
struct LastroClient: BenchClient {
  static let name = "lastro"

  private let stack: CurlNetworkStack
  private let httpVersion: String

  init(_ arguments: Arguments) throws {
    var engine = CurlConfiguration()
    if let loops = try arguments.number("loops") { engine.loops = loops }
    // Over TLS the default would speak HTTP/2 with a server that offers it.
    engine.connection.httpVersion = try arguments.isHTTP2 ? .automatic : .http1
    if let file = arguments["ca"] { engine.connection.tls.roots = .file(file) }
    stack = try CurlNetworkStack(engine, configuration: try Self.configuration(arguments))
    httpVersion = try arguments.isHTTP2 ? "2" : "1.1"
  }

  private static func configuration(_ arguments: Arguments) throws -> StackConfiguration {
    let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
    var configuration = StackConfiguration()
    configuration.interceptors = [LoggingInterceptor(logger: logger), RetryInterceptor.standard]
    return configuration
  }

  func operation(_ scenario: Scenario, url: String) throws -> Operation {
    switch scenario {
    case .fetch: try fetching(url)
    default: throw BenchFailure.unsupported("\(scenario.rawValue) is not there yet")
    }
  }

  private func fetching(_ url: String) throws -> Operation {
    let resource = RawHTTPResource.raw(try ResourceRequest(url: url))
    return { [stack, httpVersion] in
      let answer = try await stack.fetch(resource)
      guard answer.response.facts.httpVersion == httpVersion else {
        throw BenchFailure.failed("HTTP/\(answer.response.facts.httpVersion ?? "?") in place of \(httpVersion)")
      }
      return Answer(status: answer.response.status.code, bytes: answer.value.count)
    }
  }

  func shutDown() async { await stack.shutDown() }
}
