// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// squid as the front of an origin server, which asks for a digest (401; MD5, `auth`) and passes what it lets in,
/// and nothing else: squid's own questions to the server behind it are off.
///
/// It counts: a nonce that was used ``uses`` times is stale, and a count that is not the next one is refused as stale.
package final class DigestPeer: Sendable {
  /// The user it knows.
  package static let user = "lastro"
  /// The password of that user.
  package static let password = "pass \"word\", ß"
  /// How often a nonce may be used.
  package static let uses = 5

  /// Where it listens.
  package let port: Int

  private let directory: PeerDirectory
  private let process: PeerProcess
  private let service: String

  private init(port: Int, directory: PeerDirectory, process: PeerProcess, service: String) {
    self.port = port
    self.directory = directory
    self.process = process
    self.service = service
  }

  deinit { stop() }

  /// Starts it and waits until it accepts connections.
  ///
  /// - Parameter upstream: port of the origin server behind it.
  package static func start(upstream: Int) async throws -> DigestPeer {
    let program = try PeerProcess.find(["squid"], package: "squid")
    return try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      try directory.write("\(user):\(password)", to: "users")
      let file = try directory.write(configuration(port, upstream: upstream, directory: directory), to: "squid.conf")
      directory.give(to: PeerProcess.unprivilegedUser)
      // Its shared memory is named after the service: two peers must not share it.
      let service =
        directory.path.split(separator: "/").last.map { $0.filter { $0.isLetter || $0.isNumber } } ?? "digest"
      let launch = PeerProcess.Launch(
        program: program, arguments: ["-N", "-n", service, "-d", "1", "-f", file], dropsRoot: true, deathSignal: "TERM")
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return DigestPeer(port: port, directory: directory, process: process, service: service)
    }
  }

  /// Statuses sent so far, in order.
  package func statuses() -> [String] {
    directory.text(of: "access.log").split(separator: "\n").map(String.init)
  }

  /// Kills it, and removes the shared memory it leaves behind.
  package func stop() {
    process.stop()
    for part in ["metadata", "queues", "readers"] {
      try? FileManager.default.removeItem(atPath: "/dev/shm/\(service)-cf__\(part).shm")
    }
  }

  private static func configuration(_ port: Int, upstream: Int, directory: PeerDirectory) -> String {
    """
    http_port 127.0.0.1:\(port) accel defaultsite=127.0.0.1 no-vhost
    cache_peer 127.0.0.1 parent \(upstream) 0 no-query no-digest no-netdb-exchange originserver
    auth_param digest program /usr/lib/squid/digest_file_auth \(directory.file("users"))
    auth_param digest children 1
    auth_param digest realm a realm, of squid
    auth_param digest nonce_max_count \(uses)
    auth_param digest check_nonce_count on
    auth_param digest nonce_strictness on
    acl known proxy_auth REQUIRED
    http_access allow known
    http_access deny all
    cache deny all
    logformat lastro %>Hs
    access_log stdio:\(directory.file("access.log")) logformat=lastro
    cache_log /dev/null
    pid_filename none
    netdb_filename none
    visible_hostname squid.lastro.test
    coredump_dir \(directory.path)
    shutdown_lifetime 0 seconds
    pinger_enable off

    """
  }
}
