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
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      arguments.scenario == .cancel ? try arguments.requests : try arguments.concurrency
    if arguments.scenario == .idle {
      // Else all would be closed after a minute, and some hosts would have fewer than are demanded.
      configuration.connectionPool.idleTimeout = .hours(1)
      configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(64, try arguments.concurrency)
    }
    if let file = arguments["ca"] {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .file(file)
      configuration.tlsConfiguration = tls
    }
    // Nobody observes requests, as nobody does Lastro's.
    configuration.tracing.tracer = nil
    return configuration
  }
}
