// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// Makes one transfer of equal requests at the same time, and keeps nothing: for a stack without an ``HTTPCache``,
/// which does it by itself (``HTTPCachePolicy/collapsesEqualRequests``).
///
/// ```swift
/// var configuration = StackConfiguration()
/// configuration.collapsing = RequestCollapsing()
/// let stack = try CurlNetworkStack(configuration: configuration)
/// ```
///
/// Equal are requests by GET or HEAD, without a body, that have the same URL, the same fields but those of a trace, the
/// same principal and connection options, and bodies collected up to the same limit. The first carries the transfer
/// out, in a task of its own, so that it goes on when the first is cancelled; the others wait for its answer, or its
/// failure, each under its own deadline. They share nothing that sets a cookie, and no failure that is of the first
/// alone: its timeouts, limits and refusals. A request goes by itself where it is streamed, is told of interim
/// responses, or has the mode ``CacheMode/noStore`` or ``CacheMode/reload``.
public final class RequestCollapsing: Sendable {
  let flights = FlightTable()
  /// What requests are told apart by may be secret, and is remembered for a minute where none may share.
  let keyring = CacheKeyring(key: DigestKey.bytes(from: .system))

  /// Makes one. Stacks that have the same one collapse each other's requests; they must reach the same servers by the
  /// same names, trust the same, and present the same client certificate.
  public init() {}

  /// How many requests wait for transfers that they share, those that carry them out among them.
  package var waiting: Int { flights.waiting }
}

extension StackConfiguration {
  /// Whether equal requests at the same time become one, in a stack without a cache. Default `nil`: each is sent. It
  /// stands where ``cache`` would: of both the one that is set last counts.
  public var collapsing: RequestCollapsing? {
    get { layers[.cache] as? RequestCollapsing }
    set { layers[.cache] = newValue }
  }
}

extension RequestCollapsing: TransportLayer {
  package func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport {
    CollapsingTransport(base: base, collapsing: self, time: configuration.timeSource)
  }
}
