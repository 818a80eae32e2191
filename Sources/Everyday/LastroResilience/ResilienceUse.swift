// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The parts of a ``Resilience`` that a request goes through.
public enum ResilienceUse: Sendable {
  /// A part of a ``Resilience``.
  @nonexhaustive
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
