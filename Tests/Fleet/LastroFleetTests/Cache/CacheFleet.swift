// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroEveryday
import LastroObservability
import LastroSupport
import LastroTesting
import Logging
import MetricsTestKit
import TestSupport

@testable import LastroFleet

/// Instances of a service with one cache in a store in memory, on one clock, over one origin.
struct CacheFleet {
  /// An instance of the service.
  struct Instance {
    let cache: HTTPCache
    let stack: TransportNetworkStack

    var shared: SharedCacheStore? { cache.store as? SharedCacheStore }

    /// Fetches a URL, and accepts every status.
    @discardableResult
    func get(
      _ url: String = "https://example.com/a", method: HTTPRequest.Method = .get, fields: HTTPFields = [:],
      _ edit: (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Got {
      var options = RequestOptions()
      edit(&options)
      let resource = try RawHTTPResource.test(method, url: url, fields: fields, options: options)
      do throws(HTTPFetchError<any Error>) {
        let value = try await stack.fetch(resource)
        return Got(value.value, value.response)
      } catch {
        guard let response = error.response, error.transportError == nil else { throw error }
        return Got(error.body ?? Data(), response)
      }
    }

    /// Fetches a URL, and returns when the store has what was written.
    @discardableResult
    func settledGet(
      _ url: String = "https://example.com/a", method: HTTPRequest.Method = .get, fields: HTTPFields = [:],
      _ edit: (inout RequestOptions) -> Void = { _ in }
    ) async throws -> Got {
      let got = try await get(url, method: method, fields: fields, edit)
      await shared?.settled()
      return got
    }
  }

  struct Got: Equatable {
    var status: Int
    var body: String
    var outcome: CacheOutcome?
    var fields: HTTPFields
    var notes: [TransferFacts.Note]

    init(_ body: Data, _ response: ResourceResponse) {
      status = response.status.code
      self.body = String(decoding: body, as: UTF8.self)
      outcome = response.facts.cache
      fields = response.headerFields
      notes = response.facts.notes
    }
  }

  typealias Answer = @Sendable (TransferRequest, Int) async throws(TransportError) -> TransferResponse

  static let fresh: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"v1\""]
  static let full = FleetStoreError(.refused, "the store is full")

  let clock: ManualClock
  let store: MemoryFleetStore
  let origin: ScriptedTransport
  let log = LogLines()
  let metrics = TestMetrics()

  /// - Parameter advances: whether waits of instances return at once. Default true.
  init(advances: Bool = true, pause: @escaping @Sendable () async -> Void = {}, _ answer: @escaping Answer) {
    let clock = ManualClock(now: .seconds(1_000), autoAdvance: advances)
    self.clock = clock
    store = MemoryFleetStore(now: { .seconds(1_790_000_000) + clock.now }, pause: pause)
    origin = ScriptedTransport(time: clock.timeSource, answering: answer)
  }

  /// Creates instances whose origin responds with the same fields each time, and with the request's number in the body.
  init(advances: Bool = true, _ fields: HTTPFields = Self.fresh) {
    self.init(advances: advances) { (_, number) throws(TransportError) in
      .answer(200, fields: fields, body: "body \(number)")
    }
  }

  var transfers: Int { origin.requests.count }

  /// Returns an instance, whose date may differ from that of the others.
  func instance(
    skew: Duration = .zero, key: String = testKey, name: String = "shop", maximumSharedBytes: Int = 256 * 1024,
    policy: HTTPCachePolicy = HTTPCachePolicy()
  ) throws -> Instance {
    let clock = clock
    let time = TimeSource(
      now: { clock.now }, sleep: { try await clock.sleep($0) }, limit: { try await clock.waitForLimit($0) },
      sinceEpoch: { ManualClock.epoch + clock.now + skew })
    let cache = try HTTPCache(store: MemoryCacheStore(), policy: policy).shared(
      in: store, as: name, sealedWith: SealingKey(base64: Secret(key)), maximumSharedBytes: maximumSharedBytes,
      logger: Logger(label: "fleet") { [log] _ in log }, time: time)
    var configuration = StackConfiguration()
    configuration.timeSource = time
    configuration.cache = cache
    configuration.observers = [.metrics(factory: metrics)]
    return Instance(cache: cache, stack: TransportNetworkStack(transport: origin, configuration: configuration))
  }

  /// Returns the operations of the store during a call.
  func operations(_ body: () async throws -> Void) async rethrows -> Int {
    let before = store.operations
    try await body()
    return store.operations - before
  }
}
