// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The ``Resilience`` that a request goes through.
public enum ResilienceUse: Sendable {
  /// That of the stack.
  case stack
  /// None: for a health check, which has to reach a server whose circuit is open.
  case none
  /// This one instead of the stack's. It also applies in a stack without a ``Resilience``.
  case with(Resilience)
}

extension ResilienceUse: TransportLayerUse {
  package func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool {
    guard case .with(let resilience) = self, layers[.resilience] == nil else { return false }
    layers[.resilience] = resilience
    return true
  }
}
