// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// Collapses equal simultaneous requests into one transfer, and stores nothing. For a stack without an ``HTTPCache``,
/// which collapses requests too. `StackConfiguration.collapsesEqualRequests` describes it.
package final class RequestCollapsing: Sendable {
  let flights = FlightTable()
  /// Keys are digests: they are made of possibly secret fields, and unshareable keys are remembered for a minute.
  let keyring = CacheKeyring(key: DigestKey.bytes(from: .system))

  /// Creates a group of collapsible requests. Stacks with the same instance collapse each other's requests; they must
  /// reach the same servers by the same names, have the same trust settings, and present the same client certificate.
  package init() {}

  /// The number of requests that wait for shared transfers, including the requests that run them.
  package var waiting: Int { flights.waiting }
}

extension StackConfiguration {
  /// Whether equal simultaneous requests share one transfer, in a stack without a cache. Default false: each request is
  /// sent. Setting it to true removes the ``cache``, which shares transfers too, and setting a cache makes it false.
  ///
  /// ```swift
  /// var configuration = StackConfiguration()
  /// configuration.collapsesEqualRequests = true
  /// let stack = try CurlNetworkStack(configuration: configuration)
  /// ```
  ///
  /// Nothing is stored. Requests are equal if they use GET or HEAD, have no body, and have the same URL, the same
  /// fields except trace fields, the same principal and connection options, and bodies collected up to the same limit.
  /// The first request's transfer runs in a task of its own, so that it continues if the first request is cancelled.
  /// The others wait for its response or its failure, each under its own deadline. A response that sets a cookie is not
  /// shared, nor is a failure that concerns the first request only: a timeout, limit or refusal. A request is sent
  /// alone if it is streamed, observes interim responses, or has the mode ``CacheMode/noStore`` or
  /// ``CacheMode/reload``.
  ///
  /// Stacks made with copies of one configuration share transfers with each other. They must reach the same servers by
  /// the same names, have the same trust settings, and present the same client certificate.
  public var collapsesEqualRequests: Bool {
    get { collapsing != nil }
    set {
      guard newValue != (collapsing != nil) else { return }
      collapsing = newValue ? RequestCollapsing() : nil
    }
  }

  /// The group in which equal simultaneous requests share one transfer. Setting it replaces the cache.
  package var collapsing: RequestCollapsing? {
    get { layers[.cache] as? RequestCollapsing }
    set { layers[.cache] = newValue }
  }
}

extension RequestCollapsing: TransportLayer {
  package func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport {
    CollapsingTransport(base: base, collapsing: self, time: configuration.timeSource)
  }
}
