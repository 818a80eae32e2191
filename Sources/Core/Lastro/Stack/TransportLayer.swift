// SPDX-License-Identifier: Apache-2.0

/// A layer between a stack and its transport, added by a feature above the engine.
package protocol TransportLayer: Sendable {
  /// Returns a transport that wraps `base`. Called once for each stack that is made, and for each request that adds
  /// layers to its stack's.
  func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport
}

/// A request's settings for a layer. They can add the layer if the stack has none.
package protocol TransportLayerUse: Sendable {
  /// Adds the layers that the request needs and the stack lacks.
  ///
  /// - Returns: whether a layer was added.
  func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool
}

extension StackConfiguration {
  /// Returns the transport, wrapped by all layers.
  func layered(_ transport: any Transport) -> any Transport {
    var transport = transport
    for place in TransportLayerPlace.allCases.reversed() {
      if let layer = layers[place] { transport = layer.transport(over: transport, for: self) }
    }
    return transport
  }
}
