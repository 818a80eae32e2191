// SPDX-License-Identifier: Apache-2.0

/// Stands between a stack and its transport: what a feature above the engine asks to be put there.
package protocol TransportLayer: Sendable {
  /// A transport around the one below. Called once for each stack that is made.
  func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport
}

/// A request's use of a layer, which can bring the layer along where the stack has none.
package protocol TransportLayerUse: Sendable {
  /// Adds the layers that the request needs and the stack lacks.
  ///
  /// - Returns: whether a layer was added.
  func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool
}

extension StackConfiguration {
  /// The transport with all layers around it.
  func layered(_ transport: any Transport) -> any Transport {
    var transport = transport
    for place in TransportLayerPlace.allCases.reversed() {
      if let layer = layers[place] { transport = layer.transport(over: transport, for: self) }
    }
    return transport
  }
}
