// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// squid as a forward proxy that caches nothing: over HTTP, over HTTPS, and over HTTP with a password.
///
/// It refuses (403) whatever is asked of the host `refused.test`.
package final class SquidPeer: Sendable {
  /// User of ``authenticatedPort``.
  package static let user = "lastro"
  /// Password of ``authenticatedPort``.
  package static let password = "secret"

  /// Port of the HTTP proxy.
  package let port: Int
  /// Port of the HTTPS proxy; its certificate is ``PeerCertificates/server``.
  package let tlsPort: Int
  /// Port of the HTTP proxy that wants Basic credentials, and answers 407 without.
  package let authenticatedPort: Int
  /// The certificates in use.
  package let certificates: PeerCertificates

  private let directory: PeerDirectory
  private let process: PeerProcess
  private let service: String

  private init(
    ports: [Int], certificates: PeerCertificates, directory: PeerDirectory, process: PeerProcess, service: String
  ) {
    (port, tlsPort, authenticatedPort) = (ports[0], ports[1], ports[2])
    self.certificates = certificates
    self.directory = directory
    self.process = process
    self.service = service
  }

  deinit { stop() }

  /// Starts it and waits until it accepts connections.
  package static func start() async throws -> SquidPeer {
    let program = try PeerProcess.find(["squid"], package: "squid")
    let openssl = try PeerProcess.find(["openssl"], package: "openssl")
    let certificates = try await PeerCertificates()
    return try await attempting {
      let directory = try PeerDirectory()
      try await PeerProcess.run(openssl, ["passwd", "-apr1", password], in: directory)
      try directory.write("\(user):\(directory.text(of: "log"))", to: "users")
      let ports = [try Loopback.freePort(), try Loopback.freePort(), try Loopback.freePort()]
      try directory.write(try Data(contentsOf: URL(filePath: certificates.server)), to: "server.pem")
      try directory.write(try Data(contentsOf: URL(filePath: certificates.serverKey)), to: "server.key")
      let file = try directory.write(configuration(ports: ports, directory: directory), to: "squid.conf")
      directory.give(to: PeerProcess.unprivilegedUser)
      // Its shared memory is named after the service: two peers must not share it.
      let service =
        directory.path.split(separator: "/").last.map { $0.filter { $0.isLetter || $0.isNumber } } ?? "lastro"
      let launch = PeerProcess.Launch(
        program: program, arguments: ["-N", "-n", service, "-d", "1", "-f", file],
        dropsRoot: true, deathSignal: "TERM")
      let process = try await PeerProcess.start(launch, in: directory, ports: ports)
      return SquidPeer(
        ports: ports, certificates: certificates, directory: directory, process: process, service: service)
    }
  }

  /// One line for each request answered so far: method, target, status sent to the client.
  package func accessLog() -> [String] {
    directory.text(of: "access.log").split(separator: "\n").map(String.init)
  }

  /// Kills it, and removes the shared memory it leaves behind.
  package func stop() {
    process.stop()
    for part in ["metadata", "queues", "readers"] {
      try? FileManager.default.removeItem(atPath: "/dev/shm/\(service)-cf__\(part).shm")
    }
  }

  private static func configuration(ports: [Int], directory: PeerDirectory) -> String {
    """
    http_port 127.0.0.1:\(ports[0])
    https_port 127.0.0.1:\(ports[1]) tls-cert=\(directory.file("server.pem")) tls-key=\(directory.file("server.key"))
    http_port 127.0.0.1:\(ports[2]) name=authenticated
    auth_param basic program /usr/lib/squid/basic_ncsa_auth \(directory.file("users"))
    auth_param basic children 1
    acl authenticated myportname authenticated
    acl known proxy_auth REQUIRED
    acl refused dstdomain refused.test
    http_access deny refused
    http_access deny authenticated !known
    http_access allow all
    cache deny all
    logformat lastro %rm %ru %>Hs
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
