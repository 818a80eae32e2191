// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// What stands between a stack and servers that fail: each part may be left out, and shared with other stacks.
///
/// ```swift
/// var configuration = StackConfiguration()
/// configuration.resilience = .standard()
/// let stack = try CurlNetworkStack(configuration: configuration)
/// ```
public struct Resilience: Sendable {
  /// When requests may go out. Default `nil`: at once.
  public var pacer: Pacer?
  /// How many may be under way. Default `nil`: as many as are asked for.
  public var limiter: ConcurrencyLimiter?
  /// Whether any is sent at all. Default `nil`: all are.
  public var breaker: CircuitBreaker?
  /// Whether one that takes long is sent a second time. Default `nil`: none is.
  public var hedger: Hedger?
  /// The servers that requests are spread over, where there are several. Their choice and what comes of it are the
  /// ``EndpointLease``'s: here `explain` learns how the chosen one stands beside the others. Default `nil`.
  public var endpoints: EndpointSet?
  /// Is told of what the parts did, on the task of the request, which waits for it. Default `nil`.
  public var onEvent: (@Sendable (ResilienceEvent) -> Void)?

  /// Makes a choice of parts.
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

  /// Whether it lets every try through.
  var isEmpty: Bool { pacer == nil && limiter == nil && breaker == nil }

  /// A breaker, and a pacer that follows `Retry-After` and the `RateLimit` fields of servers. No limiter and no hedger:
  /// what is right for them depends on the service.
  public static func standard() -> Resilience { Resilience(pacer: Pacer(), breaker: CircuitBreaker()) }
}

/// What a part of ``Resilience`` did with a request.
public struct ResilienceEvent: Sendable, Hashable {
  /// What happened. Other kinds may come: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: Sendable, Hashable {
    /// It waited for its pace.
    case paced(Duration)
    /// It waited for room.
    case queued(Duration)
    /// It was refused, with code `circuit_open`, `concurrency_limited` or `rate_limited`; nothing was sent.
    case refused(FailureCode)
    /// The circuit changed: by its end, or because it is the first to be let through again.
    case circuit(from: CircuitState, to: CircuitState)
    /// A hedge was sent: its number, from 1, and how long after the first try.
    case hedgeSent(Int, after: Duration)
    /// A hedge ended: its number, how, and how long after the first try it had been sent.
    case hedgeEnded(Int, HedgeEnd, sentAfter: Duration)
    /// It was time for a hedge, and none was sent.
    case hedgeWithheld(HedgeVeto)
  }

  /// What happened.
  public let kind: Kind
  /// To which calls it happened.
  public let key: ResilienceKey

  /// Makes an event; for tests of those that are told.
  public init(_ kind: Kind, key: ResilienceKey) {
    self.kind = kind
    self.key = key
  }
}
