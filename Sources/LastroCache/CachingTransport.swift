// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

/// A transport that answers from an ``HTTPCache`` what it may, and sends the rest through another one.
///
/// A stack puts it around its transport by `StackConfiguration.cache`. What it did is in `TransferFacts.cache`, in the
/// ledger and in metrics, as a note called `cache`.
public struct CachingTransport: Transport {
  /// What carries the requests that go on.
  public let base: any Transport
  /// Where answers are kept.
  public let cache: HTTPCache
  let time: TimeSource

  /// Wraps a transport.
  ///
  /// - Parameters:
  ///   - base: carries the requests that go on.
  ///   - cache: where answers are kept.
  ///   - time: tells how old answers are. Default: the system's.
  public init(over base: any Transport, _ cache: HTTPCache, time: TimeSource = .continuous) {
    self.base = base
    self.cache = cache
    self.time = time
  }

  /// Answers a request.
  ///
  /// A store that does not answer is waited for a second, or half of what is left of the deadline, and then done
  /// without.
  ///
  /// - Throws: `TransportError`: that of the base; stage `limit` where the answer is longer than the request allows;
  ///   stage `timeout` where its deadline passed while it waited for an equal request or the store, with nothing sent;
  ///   stage `cancelled`, at once.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
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
    return try await exchange.run()
  }

  /// The facts of the base, and how the request would use the cache: in which mode, and which requests would find its
  /// response again, or why it would not be stored. The content of the cache is not looked at, and signers, which may
  /// add credentials, are not asked.
  public func explain(_ request: TransferRequest) -> [FetchExplanation.Fact] {
    let use = CacheUse(request.layerUses[.cache])
    let sender = CacheSender(of: request, principal: use.principal, cache.policy)
    let words = "\((use.mode ?? .standard).rawValue); \(sender.explanation(cache.policy))"
    return base.explain(request) + [.init("cache", sender.isUnrepeatable ? sender.explanation(cache.policy) : words)]
  }
}
