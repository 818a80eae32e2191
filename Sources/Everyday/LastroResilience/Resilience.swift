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
  /// The servers that requests are distributed over. An ``EndpointLease`` makes the choice and reports the result; this
  /// property only lets `explain` compare the chosen server with the others. Default `nil`.
  public var endpoints: EndpointSet?
  /// A closure that receives the events of the parts, on the task of the request, which waits for it. Default `nil`.
  public var onEvent: (@Sendable (ResilienceEvent) -> Void)?

  /// Creates a set of parts.
  public init(
    pacer: Pacer? = nil, limiter: ConcurrencyLimiter? = nil, breaker: CircuitBreaker? = nil,
    hedger: Hedger? = nil, endpoints: EndpointSet? = nil, onEvent: (@Sendable (ResilienceEvent) -> Void)? = nil
  ) {
    self.pacer = pacer
    self.limiter = limiter
    self.breaker = breaker
    self.hedger = hedger
    self.endpoints = endpoints
    self.onEvent = onEvent
  }

  /// Whether no part can delay or refuse a try.
  var isEmpty: Bool { pacer == nil && limiter == nil && breaker == nil }

  /// Returns a breaker, and a pacer that follows the `Retry-After` and `RateLimit` fields of servers. It has no limiter
  /// and no hedger, because their settings depend on the service.
  public static func standard() -> Resilience { Resilience(pacer: Pacer(), breaker: CircuitBreaker()) }
}

/// An action of a part of ``Resilience`` on a request.
public struct ResilienceEvent: Sendable, Hashable {
  /// The kind of the event. Cases may be added: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: Sendable, Hashable {
    /// The request waited for its pace.
    case paced(Duration)
    /// The request waited in the limiter's queue.
    case queued(Duration)
    /// The request was refused with code `circuit_open`, `concurrency_limited` or `rate_limited`; nothing was sent.
    case refused(FailureCode)
    /// The circuit changed state, because the request ended or because it is the first probe.
    case circuit(from: CircuitState, to: CircuitState)
    /// A hedge was sent: its number, from 1, and the time since the first try.
    case hedgeSent(Int, after: Duration)
    /// A hedge ended: its number, its result, and the time between the first try and its sending.
    case hedgeEnded(Int, HedgeEnd, sentAfter: Duration)
    /// A hedge was due, but was not sent.
    case hedgeWithheld(HedgeVeto)
  }

  /// The kind of the event.
  public let kind: Kind
  /// The key of the request.
  public let key: ResilienceKey

  /// Creates an event; for tests of code that receives events.
  public init(_ kind: Kind, key: ResilienceKey) {
    self.kind = kind
    self.key = key
  }
}
