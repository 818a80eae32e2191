// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import BenchSupport
import NIOCore
import NIOSSL

extension HTTPClient.Configuration {
  /// Returns the default configuration, except for settings that would slow the client down or prevent a scenario.
  static func bench(_ arguments: Arguments) throws -> HTTPClient.Configuration {
    var configuration = HTTPClient.Configuration()
    configuration.httpVersion = try arguments.isHTTP2 ? .automatic : .http1Only
    // By default a host has at most 8 connections, and further requests wait.
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = try arguments.concurrency
    switch arguments.scenario {
    case .cancel:
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = try arguments.requests
      // Opening 10,000 connections takes longer than the default of 10 s.
      configuration.timeout.connect = .seconds(60)
    case .idle:
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(64, try arguments.concurrency)
      // By default all idle connections would be closed after a minute.
      configuration.connectionPool.idleTimeout = .hours(1)
    default: break
    }
    if let file = arguments["ca"] {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .file(file)
      configuration.tlsConfiguration = tls
    }
    // Requests are not traced, as in Lastro's benchmark.
    configuration.tracing.tracer = nil
    return configuration
  }
}
