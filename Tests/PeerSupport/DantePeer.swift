// SPDX-License-Identifier: Apache-2.0

/// Dante as a SOCKS 5 proxy without authentication, for destinations on this machine.
package final class DantePeer: Sendable {
  /// Its port.
  package let port: Int

  private let directory: PeerDirectory
  private let process: PeerProcess

  private init(port: Int, directory: PeerDirectory, process: PeerProcess) {
    self.port = port
    self.directory = directory
    self.process = process
  }

  /// Starts it and waits until it accepts connections.
  package static func start() async throws -> DantePeer {
    let program = try PeerProcess.find(["danted", "sockd"], package: "dante-server")
    return try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      let file = try directory.write(configuration(port: port), to: "danted.conf")
      directory.give(to: PeerProcess.unprivilegedUser)
      let launch = PeerProcess.Launch(
        program: program, arguments: ["-f", file, "-p", directory.file("danted.pid")], dropsRoot: true)
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return DantePeer(port: port, directory: directory, process: process)
    }
  }

  /// What it logged: a line when a connection is passed on, and when it ends.
  package func log() -> [String] { directory.text(of: "log").split(separator: "\n").map(String.init) }

  /// Kills it.
  package func stop() { process.stop() }

  private static func configuration(port: Int) -> String {
    """
    logoutput: stderr
    internal: 127.0.0.1 port = \(port)
    external: lo
    clientmethod: none
    socksmethod: none
    client pass { from: 127.0.0.0/8 to: 0.0.0.0/0 }
    socks pass { from: 127.0.0.0/8 to: 0.0.0.0/0 log: connect disconnect error }

    """
  }
}
