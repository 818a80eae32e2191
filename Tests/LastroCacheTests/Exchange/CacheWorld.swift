// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCache
import LastroSupport
import LastroTesting
import TestSupport

/// A stack with a cache over an origin in memory, on a clock of its own.
struct CacheWorld {
  typealias Answer = @Sendable (TransferRequest, Int) async throws(TransportError) -> TransferResponse

  let clock = ManualClock()
  let cache: HTTPCache
  let origin: ScriptedTransport
  let stack: TransportNetworkStack

  init(
    store: any HTTPCacheStore = MemoryCacheStore(), policy: HTTPCachePolicy = HTTPCachePolicy(),
    configuration: StackConfiguration = StackConfiguration(), _ answer: @escaping Answer
  ) {
    cache = HTTPCache(store: store, policy: policy)
    origin = ScriptedTransport(time: clock.timeSource, answering: answer)
    var configuration = configuration
    configuration.timeSource = clock.timeSource
    configuration.cache = cache
    stack = TransportNetworkStack(transport: origin, configuration: configuration)
  }

  /// An origin that answers the same with the number of the request in the body.
  init(
    store: any HTTPCacheStore = MemoryCacheStore(), policy: HTTPCachePolicy = HTTPCachePolicy(), _ fields: HTTPFields
  ) {
    self.init(store: store, policy: policy) { (_, number) throws(TransportError) in
      .answer(200, fields: fields, body: "body \(number)")
    }
  }

  struct Got: Equatable {
    var status: Int
    var body: String
    var outcome: CacheReport.Outcome?
    var report: CacheReport?
    var fields: HTTPFields

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.status == rhs.status && lhs.body == rhs.body }
  }

  /// Fetches, whatever the status.
  @discardableResult
  func get(
    _ url: String = "https://example.com/a", method: HTTPRequest.Method = .get, fields: HTTPFields = [:],
    body: RequestBody = .empty, _ edit: (inout RequestOptions) -> Void = { _ in }
  ) async throws -> Got {
    var options = RequestOptions()
    edit(&options)
    let resource = try RawHTTPResource.test(method, url: url, fields: fields, body: body, options: options)
    return try await result(of: resource)
  }

  private func result(of resource: RawHTTPResource) async throws -> Got {
    do throws(HTTPFetchError<any Error>) {
      let value = try await stack.fetch(resource)
      return Got(value.value, value.response)
    } catch {
      guard let response = error.response, error.transportError == nil else { throw error }
      return Got(error.body ?? Data(), response)
    }
  }

  var transfers: Int { origin.requests.count }
}

extension CacheWorld.Got {
  init(_ body: Data, _ response: ResourceResponse) {
    self.init(
      status: response.status.code, body: String(decoding: body, as: UTF8.self), outcome: response.facts.cache?.outcome,
      report: response.facts.cache, fields: response.headerFields)
  }
}
