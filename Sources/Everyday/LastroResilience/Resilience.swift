// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A set of parts that protect a stack from failing servers. Each part is optional, and may be shared with other
/// stacks.
///
/// ```swift
/// var configuration = StackConfiguration()
/// configuration.resilience = .standard()
/// let stack = try CurlNetworkStack(configuration: configuration)
/// ```
public struct Resilience: Sendable {
  /// The pacer, which decides when requests are sent. Default `nil`: they are sent at once.
  public var pacer: Pacer?
  /// The limiter of concurrent attempts. Default `nil`: no limit.
  public var limiter: ConcurrencyLimiter?
  /// The circuit breaker, which decides whether requests are sent at all. Default `nil`: all are.
  public var breaker: CircuitBreaker?
  /// The hedger, which sends slow requests a second time. Default `nil`: none is repeated.
  public var hedger: Hedger?
  /// The servers that requests are distributed over. Default `nil`.
  ///
  /// If the servers share a URL (``EndpointSource/init(of:addresses:)``), each attempt of a request to it is sent to the
  /// less loaded of two of them. A retry avoids those with which the call has failed. Each server has connections of its
  /// own, so that HTTP/2 does not keep all requests on one of them. A proxy that forwards requests chooses a server
  /// itself.
  ///
  /// If each server has a URL of its own, ``EndpointSet/withEndpoint(avoiding:_:)`` makes the choice. In both cases the
  /// ledger names the server and the reason, and `explain` compares it with the others.
  public var endpoints: EndpointSet?

  /// Creates a set of parts.
  public init(
    pacer: Pacer? = nil, limiter: ConcurrencyLimiter? = nil, breaker: CircuitBreaker? = nil,
    hedger: Hedger? = nil, endpoints: EndpointSet? = nil
  ) {
    self.pacer = pacer
    self.limiter = limiter
    self.breaker = breaker
    self.hedger = hedger
    self.endpoints = endpoints
  }

  /// Whether no part can delay or refuse a try.
  var isEmpty: Bool { pacer == nil && limiter == nil && breaker == nil }

  /// Returns a breaker, and a pacer that follows the `Retry-After` and `RateLimit` fields of servers. It has no limiter
  /// and no hedger, because their settings depend on the service.
  public static func standard() -> Resilience {
    Resilience(pacer: Pacer(PacingPolicy()), breaker: CircuitBreaker(policy: .standard))
  }
}

extension StackConfiguration {
  /// The resilience parts that a stack applies to its requests. Default `nil`: none.
  ///
  /// ```swift
  /// var configuration = StackConfiguration()
  /// configuration.resilience = .standard()
  /// let stack = try CurlNetworkStack(configuration: configuration)
  /// ```
  ///
  /// Stacks that are created with the same value share its parts. The parts apply to fetches and streams; WebSocket,
  /// Gemini and other dials of the same engine bypass them.
  public var resilience: Resilience? {
    get { layers[.resilience] as? Resilience }
    set { layers[.resilience] = newValue }
  }
}

extension Resilience: TransportLayer {
  package func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport {
    ResilientTransport(over: base, self, time: configuration.timeSource)
  }
}

extension RequestOptions {
  /// The ``Resilience`` that the request goes through. Default `.stack`.
  ///
  /// A health check has to reach a server whose circuit is open: give it `.none`. The parts of `.with(_:)` apply in
  /// every stack, whether or not it has a ``Resilience`` of its own.
  public var resilience: StackPartUse<Resilience> {
    get { (layerUses[.resilience] as? ResilienceUse)?.use ?? .stack }
    set { layerUses[.resilience] = ResilienceUse(use: newValue) }
  }
}

extension Resilience {
  /// Returns the parts that a request goes through.
  func used(by request: TransferRequest) -> Resilience {
    guard let setting = request.layerUses[.resilience] as? ResilienceUse else { return self }
    switch setting.use {
    case .stack: return self
    case .none: return Resilience(endpoints: endpoints)
    case .with(var other):
      if other.endpoints == nil { other.endpoints = endpoints }
      return other
    }
  }
}
