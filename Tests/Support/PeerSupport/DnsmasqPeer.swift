// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A dnsmasq that answers for the names of a test, over UDP and TCP.
package final class DnsmasqPeer: Sendable {
  /// The port of 127.0.0.1.
  package let port: Int
  private let directory: PeerDirectory
  private let process: PeerProcess

  private init(port: Int, directory: PeerDirectory, process: PeerProcess) {
    self.port = port
    self.directory = directory
    self.process = process
  }

  deinit { process.stop() }

  /// Starts a server and waits until it accepts connections.
  ///
  /// - Parameters:
  ///   - hosts: lines of a hosts file.
  ///   - options: further options, such as `--srv-host=_https._tcp.example,n1.example,8443,10,60`.
  package static func start(hosts: String, _ options: String...) async throws -> DnsmasqPeer {
    let program = try PeerProcess.find(["dnsmasq"], package: "dnsmasq-base")
    return try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      let file = try directory.write(hosts, to: "hosts")
      var arguments = [
        "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--port=\(port)",
        "--listen-address=127.0.0.1", "--bind-interfaces", "--addn-hosts=\(file)", "--local-ttl=1", "--pid-file=",
        "--local=/example/", "--edns-packet-max=1232",
      ]
      if getuid() == 0 { arguments += ["--user=root", "--group=root"] }
      let launch = PeerProcess.Launch(program: program, arguments: arguments + options)
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return DnsmasqPeer(port: port, directory: directory, process: process)
    }
  }

  /// Replaces the hosts file, and makes the server read it (SIGHUP).
  package func replace(hosts: String) throws {
    try directory.write(hosts, to: "hosts")
    kill(process.id, SIGHUP)
  }
}
