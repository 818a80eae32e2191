// SPDX-License-Identifier: Apache-2.0

package import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A server of another project, started for tests and ended with them. `SquidPeer.start()` and its like start one.
package final class Peer: Sendable {
  /// The ports it listens on.
  package let ports: [Int]
  /// The first of them.
  package var port: Int { ports[0] }
  /// The certificates in use.
  package var certificates: PeerCertificates {
    get throws { try #require(minted) }
  }

  private let minted: PeerCertificates?
  private let directory: PeerDirectory
  private let process: PeerProcess

  private init(ports: [Int], certificates: PeerCertificates?, directory: PeerDirectory, process: PeerProcess) {
    self.ports = ports
    minted = certificates
    self.directory = directory
    self.process = process
  }

  deinit { stop() }

  /// Starts a server and waits until it accepts connections. A free port may be taken before it is used: it is tried
  /// three times.
  ///
  /// - Parameters:
  ///   - count: how many ports it listens on.
  ///   - launch: writes the files it reads, and says how it is started.
  static func start(
    ports count: Int = 1, certificates: PeerCertificates? = nil,
    _ launch: (PeerDirectory, [Int]) async throws -> PeerProcess.Launch
  ) async throws -> Peer {
    try await attempting {
      let directory = try PeerDirectory()
      let ports = try (0..<count).map { _ in try Loopback.freePort() }
      let process = try await PeerProcess.start(launch(directory, ports), in: directory, ports: ports)
      return Peer(ports: ports, certificates: certificates, directory: directory, process: process)
    }
  }

  /// What it printed, a line each.
  package func log() -> [String] { directory.lines(of: "log") }

  /// A line for each request it answered.
  package func accessLog() -> [String] { directory.lines(of: "access.log") }

  /// Kills it, and removes the shared memory that squid leaves behind.
  package func stop() {
    process.stop()
    for part in ["metadata", "queues", "readers"] {
      try? FileManager.default.removeItem(atPath: "/dev/shm/\(directory.name)-cf__\(part).shm")
    }
  }
}

/// Tries three times: a free port may be taken before it is used.
func attempting<T>(_ body: () async throws -> T) async throws -> T {
  for _ in 0..<2 {
    if let result = try? await body() { return result }
  }
  return try await body()
}

/// The servers of other projects that run while a suite runs.
package struct Peers: Sendable {
  package enum Kind: Sendable {
    case nginx
    /// In front of nginx, which has to be named before it.
    case haproxy
    case squid, dante, python, lighttpd, node, hypercorn, mollyBrown, jetforce, webSocket
  }

  @TaskLocal fileprivate static var current = Peers()

  private var nginx: NginxPeer?
  private var others: [Kind: Peer] = [:]

  package static var nginx: NginxPeer { get throws { try #require(current.nginx) } }
  package static var haproxy: Peer { get throws { try peer(.haproxy) } }
  package static var squid: Peer { get throws { try peer(.squid) } }
  package static var dante: Peer { get throws { try peer(.dante) } }
  package static var python: Peer { get throws { try peer(.python) } }
  package static var lighttpd: Peer { get throws { try peer(.lighttpd) } }
  package static var node: Peer { get throws { try peer(.node) } }
  package static var hypercorn: Peer { get throws { try peer(.hypercorn) } }
  package static var mollyBrown: Peer { get throws { try peer(.mollyBrown) } }
  package static var jetforce: Peer { get throws { try peer(.jetforce) } }
  package static var webSocket: Peer { get throws { try peer(.webSocket) } }

  private static func peer(_ kind: Kind) throws -> Peer { try #require(current.others[kind]) }

  fileprivate mutating func start(_ kind: Kind) async throws {
    switch kind {
    case .nginx: nginx = try await NginxPeer.start()
    case .haproxy: others[kind] = try await HAProxyPeer.start(upstream: try #require(nginx).ports.plain)
    case .squid: others[kind] = try await SquidPeer.start()
    case .dante: others[kind] = try await DantePeer.start()
    case .python: others[kind] = try await PythonPeer.start()
    case .lighttpd: others[kind] = try await LighttpdPeer.start()
    case .node: others[kind] = try await NodePeer.start()
    case .hypercorn: others[kind] = try await HypercornPeer.start()
    case .mollyBrown: others[kind] = try await MollyBrownPeer.start()
    case .jetforce: others[kind] = try await JetforcePeer.start()
    case .webSocket: others[kind] = try await WebSocketPeer.start()
    }
  }

  fileprivate func stop() {
    for peer in others.values { peer.stop() }
    nginx?.stop()
  }
}

/// Starts peers once for a whole suite, and ends them with it.
package struct PeersTrait: SuiteTrait, TestScoping {
  package let kinds: [Peers.Kind]

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    var peers = Peers()
    for kind in kinds { try await peers.start(kind) }
    defer { peers.stop() }
    try await Peers.$current.withValue(peers, operation: function)
  }
}

extension Trait where Self == PeersTrait {
  package static func peers(_ kinds: Peers.Kind...) -> Self { PeersTrait(kinds: kinds) }
}
