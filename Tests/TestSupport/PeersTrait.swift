// SPDX-License-Identifier: Apache-2.0

package import PeerSupport
package import Testing

/// The servers nobody here wrote that run while a suite runs.
package struct Peers: Sendable {
  package enum Kind: Sendable {
    case nginx
    case squid
    case dante
    case python
    /// In front of nginx, which has to be named before it.
    case haproxy
    case lighttpd
    case node
    case hypercorn
    case mollyBrown
    case jetforce
    case webSocket
  }

  @TaskLocal package static var current = Peers()

  fileprivate(set) var nginxPeer: NginxPeer?
  fileprivate(set) var squidPeer: SquidPeer?
  fileprivate(set) var dantePeer: DantePeer?
  fileprivate(set) var pythonPeer: PythonPeer?
  fileprivate(set) var haproxyPeer: HAProxyPeer?
  fileprivate(set) var lighttpdPeer: LighttpdPeer?
  fileprivate(set) var nodePeer: NodePeer?
  fileprivate(set) var hypercornPeer: HypercornPeer?
  fileprivate(set) var mollyBrownPeer: MollyBrownPeer?
  fileprivate(set) var jetforcePeer: JetforcePeer?
  fileprivate(set) var webSocketPeer: WebSocketPeer?

  package static var nginx: NginxPeer { get throws { try #require(current.nginxPeer) } }
  package static var squid: SquidPeer { get throws { try #require(current.squidPeer) } }
  package static var dante: DantePeer { get throws { try #require(current.dantePeer) } }
  package static var python: PythonPeer { get throws { try #require(current.pythonPeer) } }
  package static var haproxy: HAProxyPeer { get throws { try #require(current.haproxyPeer) } }
  package static var lighttpd: LighttpdPeer { get throws { try #require(current.lighttpdPeer) } }
  package static var node: NodePeer { get throws { try #require(current.nodePeer) } }
  package static var hypercorn: HypercornPeer { get throws { try #require(current.hypercornPeer) } }
  package static var mollyBrown: MollyBrownPeer { get throws { try #require(current.mollyBrownPeer) } }
  package static var jetforce: JetforcePeer { get throws { try #require(current.jetforcePeer) } }
  package static var webSocket: WebSocketPeer { get throws { try #require(current.webSocketPeer) } }

  fileprivate static func start(_ kinds: [Kind]) async throws -> Peers {
    var peers = Peers()
    for kind in kinds {
      switch kind {
      case .nginx: peers.nginxPeer = try await NginxPeer.start()
      case .squid: peers.squidPeer = try await SquidPeer.start()
      case .dante: peers.dantePeer = try await DantePeer.start()
      case .python: peers.pythonPeer = try await PythonPeer.start()
      case .haproxy:
        let nginx = try #require(peers.nginxPeer)
        peers.haproxyPeer = try await HAProxyPeer.start(upstream: nginx.ports.plain)
      case .lighttpd: peers.lighttpdPeer = try await LighttpdPeer.start()
      case .node: peers.nodePeer = try await NodePeer.start()
      case .hypercorn: peers.hypercornPeer = try await HypercornPeer.start()
      case .mollyBrown: peers.mollyBrownPeer = try await MollyBrownPeer.start()
      case .jetforce: peers.jetforcePeer = try await JetforcePeer.start()
      case .webSocket: peers.webSocketPeer = try await WebSocketPeer.start()
      }
    }
    return peers
  }

  fileprivate func stop() {
    nginxPeer?.stop()
    squidPeer?.stop()
    dantePeer?.stop()
    pythonPeer?.stop()
    haproxyPeer?.stop()
    lighttpdPeer?.stop()
    nodePeer?.stop()
    hypercornPeer?.stop()
    mollyBrownPeer?.stop()
    jetforcePeer?.stop()
    webSocketPeer?.stop()
  }
}

/// Starts peers once for a whole suite, and ends them with it.
package struct PeersTrait: SuiteTrait, TestScoping {
  package let kinds: [Peers.Kind]

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    let peers = try await Peers.start(kinds)
    defer { peers.stop() }
    try await Peers.$current.withValue(peers, operation: function)
  }
}

extension Trait where Self == PeersTrait {
  package static func peers(_ kinds: Peers.Kind...) -> Self { PeersTrait(kinds: kinds) }
}
