// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import BenchSupport
import NIOCore
import NIOSSL

extension HTTPClient.Configuration {
  /// The defaults, but for what would slow it down or could not be done with them.
  static func bench(_ arguments: Arguments) throws -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration()
    configuration.httpVersion = try arguments.isHTTP2 ? .automatic : .http1Only
    // By default 8 connections to a host serve all its requests; further ones wait.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = try arguments.concurrency
    switch arguments.scenario {
    case .cancel:
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = try arguments.requests
      // Opening 10,000 connections takes it longer than the 10 s it has by default.
      configuration.timeout.connect = .seconds(60)
    case .idle:
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(64, try arguments.concurrency)
      // Else all would be closed after a minute.
      configuration.connectionPool.idleTimeout = .hours(1)
    default: break
    }
    if let file = arguments["ca"] {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .file(file)
      configuration.tlsConfiguration = tls
    }
    // Requests are not observed, as Lastro's are not.
    configuration.tracing.tracer = nil
    return configuration
  }
}
