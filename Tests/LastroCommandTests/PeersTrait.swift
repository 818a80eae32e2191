// SPDX-License-Identifier: Apache-2.0

import PeerSupport
import Testing

/// The servers nobody here wrote that run while a suite runs.
struct Peers: Sendable {
  enum Kind: Sendable {
    case nginx
    case squid
    case dante
    case python
    case mollyBrown
    case jetforce
    case webSocket
  }

  @TaskLocal static var current = Peers()

  fileprivate(set) var nginxPeer: NginxPeer?
  fileprivate(set) var squidPeer: SquidPeer?
  fileprivate(set) var dantePeer: DantePeer?
  fileprivate(set) var pythonPeer: PythonPeer?
  fileprivate(set) var mollyBrownPeer: MollyBrownPeer?
  fileprivate(set) var jetforcePeer: JetforcePeer?
  fileprivate(set) var webSocketPeer: WebSocketPeer?

  static var nginx: NginxPeer { get throws { try #require(current.nginxPeer) } }
  static var squid: SquidPeer { get throws { try #require(current.squidPeer) } }
  static var dante: DantePeer { get throws { try #require(current.dantePeer) } }
  static var python: PythonPeer { get throws { try #require(current.pythonPeer) } }
  static var mollyBrown: MollyBrownPeer { get throws { try #require(current.mollyBrownPeer) } }
  static var jetforce: JetforcePeer { get throws { try #require(current.jetforcePeer) } }
  static var webSocket: WebSocketPeer { get throws { try #require(current.webSocketPeer) } }

  fileprivate static func start(_ kinds: [Kind]) async throws -> Peers {
    var peers = Peers()
    for kind in kinds {
      switch kind {
      case .nginx: peers.nginxPeer = try await NginxPeer.start()
      case .squid: peers.squidPeer = try await SquidPeer.start()
      case .dante: peers.dantePeer = try await DantePeer.start()
      case .python: peers.pythonPeer = try await PythonPeer.start()
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
    mollyBrownPeer?.stop()
    jetforcePeer?.stop()
    webSocketPeer?.stop()
  }
}

/// Starts peers once for a whole suite, and ends them with it.
struct PeersTrait: SuiteTrait, TestScoping {
  let kinds: [Peers.Kind]

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    let peers = try await Peers.start(kinds)
    defer { peers.stop() }
    try await Peers.$current.withValue(peers, operation: function)
  }
}

extension Trait where Self == PeersTrait {
  static func peers(_ kinds: Peers.Kind...) -> Self { PeersTrait(kinds: kinds) }
}
