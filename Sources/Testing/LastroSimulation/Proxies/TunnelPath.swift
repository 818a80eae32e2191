// SPDX-License-Identifier: Apache-2.0

internal import LastroHTTP

/// The path of a connection through a proxy's tunnel: what arrives at the proxy continues to the other end.
final class TunnelPath: MemoryPath {
  let toProxy: SimulatedPath
  let toServer: SimulatedPath
  private var isBroken = false

  init(_ toProxy: SimulatedPath, _ toServer: SimulatedPath) {
    self.toProxy = toProxy
    self.toServer = toServer
  }

  func carry(_ count: Int, toPeer: Bool, _ arrive: @escaping () -> Void) {
    guard !isBroken else { return }
    let (first, second) = toPeer ? (toProxy, toServer) : (toServer, toProxy)
    first.carry(count, toPeer: toPeer) { [weak self] in
      if self?.isBroken == false { second.carry(count, toPeer: toPeer, arrive) }
    }
  }

  /// Resets both halves, as the system does for a proxy that has crashed.
  func reset(_ far: MemoryPeer) {
    guard !isBroken else { return }
    isBroken = true
    toProxy.carry(0, toPeer: false) { [weak near = far.near] in near?.ended(.failed) }
    toServer.carry(0, toPeer: true) { [weak far] in
      if let far { far.onClose(far) }
    }
  }
}
