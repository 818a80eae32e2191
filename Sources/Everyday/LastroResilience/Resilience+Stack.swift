// SPDX-License-Identifier: Apache-2.0

public import Lastro

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

/// The parts of a ``Resilience`` that a request goes through.
public enum ResilienceUse: Sendable {
  /// A part of a ``Resilience``.
  public enum Part: Sendable, Hashable, CaseIterable {
    /// ``Resilience/pacer``.
    case pacer
    /// ``Resilience/limiter``.
    case limiter
    /// ``Resilience/breaker``.
    case breaker
    /// ``Resilience/hedger``.
    case hedger
  }

  /// All parts of the stack.
  case stack
  /// No part: for a health check, which has to reach a server whose circuit is open.
  case none
  /// Only these parts of the stack. This is a filter: a part that the stack lacks is not added.
  case only(Set<Part>)
  /// These parts instead of the stack's. They also apply in a stack without a ``Resilience``.
  case with(Resilience)
}

extension ResilienceUse: TransportLayerUse {
  package func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool {
    guard case .with(let resilience) = self, layers[.resilience] == nil else { return false }
    layers[.resilience] = resilience
    return true
  }
}

extension RequestOptions {
  /// The parts of a ``Resilience`` that the request goes through. Default ``ResilienceUse/stack``.
  ///
  /// The parts of ``ResilienceUse/with(_:)`` apply in every stack, whether or not it has a ``Resilience`` of its own.
  public var resilience: ResilienceUse {
    get { layerUses[.resilience] as? ResilienceUse ?? .stack }
    set { layerUses[.resilience] = newValue }
  }
}

extension Resilience {
  /// Returns the parts that a request goes through.
  func used(by request: TransferRequest) -> Resilience {
    guard let use = request.layerUses[.resilience] as? ResilienceUse else { return self }
    switch use {
    case .stack: return self
    case .none: return Resilience(endpoints: endpoints)
    case .with(let other): return other
    case .only(let parts):
      return Resilience(
        pacer: parts.contains(.pacer) ? pacer : nil, limiter: parts.contains(.limiter) ? limiter : nil,
        breaker: parts.contains(.breaker) ? breaker : nil, hedger: parts.contains(.hedger) ? hedger : nil,
        endpoints: endpoints, onEvent: onEvent)
    }
  }
}
