// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroWire

/// A transport that answers requests from an ``HTTPCache`` where it may, and sends the rest through another transport.
///
/// A stack wraps its transport in this one if `StackConfiguration.cache` is set. The cache's report is in
/// `TransferFacts.cache`; the ledger and metrics contain it as a note called `cache`.
package struct CachingTransport: Transport {
  /// The transport that sends the requests which the cache does not answer.
  package let base: any Transport
  /// The cache that stores the responses.
  package let cache: HTTPCache
  let time: TimeSource

  /// Wraps a transport.
  ///
  /// - Parameters:
  ///   - base: the transport that sends the requests which the cache does not answer.
  ///   - cache: the cache that stores the responses.
  ///   - time: the clock that determines the age of responses. Default: the system's.
  package init(over base: any Transport, _ cache: HTTPCache, time: TimeSource = .continuous) {
    self.base = base
    self.cache = cache
    self.time = time
  }

  /// Answers a request from the cache, or sends it through the base.
  ///
  /// The request waits for the store for at most one second, or half of the time left until its deadline, and then
  /// proceeds without the store.
  ///
  /// - Throws: `TransportError`: the error of the base; stage `limit` if the response is longer than the request
  ///   allows; stage `timeout` if the deadline passed while the request waited for an equal request or for the store,
  ///   with nothing sent; stage `cancelled`, immediately.
  package func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let start = time.now()
    let use = CacheUse(request.layerUses[.cache])
    var asked = CacheRequest(
      method: request.head.method.rawValue, fields: CacheFields(request.head.headerFields),
      wish: (use.mode ?? .standard).wish)
    guard asked.isReading else { return try await change(request, asked) }
    guard use.mode != .noStore, request.body.length == 0 else { return try await bypass(request, asked) }
    let visit = StoreVisit(cache.access, time: time, start: start, deadline: request.deadline)
    let sender = CacheSender(of: request, principal: use.principal, cache.policy)
    asked.isAuthorized = sender.credentials.isAuthorized
    guard let keys = await CacheKeys(of: request, from: sender, cache, visit) else {
      if Task.isCancelled { throw .cancelled() }
      guard asked.mayForward else { return unavailable }
      return try await base.execute(try request.remaining(after: time.now() - start))
    }
    let exchange = CacheExchange(
      request: request, asked: asked, mode: use.mode ?? .standard, keys: keys, start: start, transport: self,
      visit: visit)
    guard let shared = cache.shared else { return try await exchange.run() }
    var response = try await exchange.run()
    let notes = shared.takeNotes()
    if !notes.isEmpty { response.facts.notes += notes }
    return response
  }

  /// Returns the facts of the base, and describes how the request would use the cache: the mode, and which requests
  /// would get its stored response, or why it would not be stored. Does not read the cache, and does not call signers,
  /// which may add credentials.
  package func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
    let use = CacheUse(request.layerUses[.cache])
    let sender = CacheSender(of: request, principal: use.principal, cache.policy)
    let words = "\(use.mode ?? .standard); \(sender.explanation(cache.policy))"
    var value = sender.isUnrepeatable ? sender.explanation(cache.policy) : words
    if let shared = cache.shared, !sender.isUnrepeatable { value += "; \(shared.words())" }
    return base.explain(request) + [(name: "cache", value: value)]
  }
}
