// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
package import Testing

/// A server of Redis in a network namespace of its own. One link leads to it, which can be cut: packets are lost then, and
/// no end hears of it.
///
/// The namespace and the link end with the server.
package final class DistantRedisPeer: Sendable {
  /// The address of the server, which listens on port 6379.
  package let host: String

  private let directory: PeerDirectory
  private let process: PeerProcess

  private init(host: String, directory: PeerDirectory, process: PeerProcess) {
    self.host = host
    self.directory = directory
    self.process = process
  }

  deinit { process.stop() }

  /// Starts a server, and connects its namespace.
  package static func start() async throws -> DistantRedisPeer {
    let directory = try PeerDirectory()
    let redis = try PeerProcess.find(["redis-server", "valkey-server"], package: "redis-server")
    let process = try await PeerProcess.start(
      PeerProcess.Launch(
        program: try program("unshare"),
        arguments: [
          "--net", redis, "--bind", "0.0.0.0", "--protected-mode", "no", "--port", "6379", "--save", "",
          "--appendonly", "no", "--dir", directory.path,
        ]), in: directory, ports: [])
    // It has its namespace a moment after it was started.
    let deadline = ContinuousClock.now + .seconds(60)
    while namespace(of: "\(process.id)") == namespace(of: "self"), ContinuousClock.now < deadline { usleep(1000) }
    // The ports of peers are unique among tests, and so are networks of four addresses for them.
    let number = try Loopback.freePort()
    let network = "198.18.\(number / 64 % 256)"
    let link = "lastro\(number)"
    let ip = try program("ip")
    let peer = DistantRedisPeer(host: "\(network).\(number % 64 * 4 + 2)", directory: directory, process: process)
    try await PeerProcess.run(
      ip, ["link", "add", link, "type", "veth", "peer", "name", "store", "netns", "\(process.id)"], in: directory)
    try await PeerProcess.run(
      ip, ["address", "add", "\(network).\(number % 64 * 4 + 1)/30", "dev", link], in: directory)
    try await PeerProcess.run(ip, ["link", "set", link, "up"], in: directory)
    try await peer.runInside("address", "add", "\(peer.host)/30", "dev", "store")
    try await peer.setLink(isUp: true)
    return peer
  }

  /// Cuts the link at the far end, or mends it.
  package func setLink(isUp: Bool) async throws {
    try await runInside("link", "set", "store", isUp ? "up" : "down")
  }

  private func runInside(_ words: String...) async throws {
    try await PeerProcess.run(
      try Self.program("nsenter"), ["--net", "--target", "\(process.id)", try Self.program("ip")] + words, in: directory
    )
  }

  private static func program(_ name: String) throws -> String {
    try PeerProcess.find([name], package: name == "ip" ? "iproute2" : "util-linux")
  }

  private static func namespace(of process: String) -> String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/ns/net")
  }

  /// Whether this process may make namespaces and links.
  fileprivate static func isPossible() async -> Bool {
    guard let directory = try? PeerDirectory(), let unshare = try? program("unshare"), let ip = try? program("ip")
    else {
      return false
    }
    let words = ["--net", ip, "link", "add", "lastro-a", "type", "veth", "peer", "name", "lastro-b"]
    return (try? await PeerProcess.run(unshare, words, in: directory)) != nil
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test or a suite, by name, where no network namespaces can be made.
  package static var needsNamespaces: Self {
    .enabled("network namespaces need root and iproute2") { await DistantRedisPeer.isPossible() }
  }
}
