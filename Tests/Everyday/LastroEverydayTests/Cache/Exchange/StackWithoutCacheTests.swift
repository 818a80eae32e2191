// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroEveryday
import LastroTesting
import TestSupport
import Testing

@Suite("Cache modes in a stack without a cache", .timeLimit(.minutes(15)))
struct StackWithoutCacheTests {
  @Test("A request that only a cache may answer gets a 504 and is not sent", arguments: [false, true])
  func onlyStored(collapses: Bool) async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let stack = TransportNetworkStack(transport) { $0.collapsesEqualRequests = collapses }
    var options = RequestOptions()
    options.cache = .onlyStored
    let error = try await stack.failure(of: .test(options: options))
    #expect(error.statusCode == .gatewayTimeout)
    #expect("\(error.ledger)".contains("the stack has no cache"))
    #expect(transport.requests.isEmpty)
  }

  @Test("Sharing of transfers and a cache exclude each other, and switching sharing off keeps the cache")
  func exclusive() {
    var configuration = StackConfiguration()
    configuration.cache = HTTPCache()
    configuration.collapsesEqualRequests = false
    #expect(configuration.cache != nil && !configuration.collapsesEqualRequests)
    configuration.collapsesEqualRequests = true
    #expect(configuration.cache == nil && configuration.collapsesEqualRequests)
    configuration.cache = HTTPCache()
    #expect(!configuration.collapsesEqualRequests)
  }

  @Test(
    "All other modes contact the server",
    arguments: [CacheMode.standard, .noStore, .reload, .revalidate, .preferStored])
  func others(mode: CacheMode) async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    var options = RequestOptions()
    options.cache = mode
    options.principal = "ann"
    #expect(try await TransportNetworkStack(transport).fetch(.test(options: options)).response.status == .ok)
    #expect(transport.requests.count == 1)
  }
}
