// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The ``Resilience`` that a request goes through, as a setting for its layer.
struct ResilienceUse: TransportLayerUse {
  let use: StackPartUse<Resilience>

  func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool {
    guard case .with(let resilience) = use, layers[.resilience] == nil else { return false }
    layers[.resilience] = resilience
    return true
  }
}
