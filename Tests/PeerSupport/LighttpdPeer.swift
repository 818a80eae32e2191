// SPDX-License-Identifier: Apache-2.0

/// lighttpd over TLS, which says goodbye (GOAWAY) to a connection after ``requests`` requests.
///
/// | target | answer |
/// |---|---|
/// | `/page` | a line of text |
package final class LighttpdPeer: Sendable {
  /// How many requests a connection serves.
  package static let requests = 10

  /// Its port.
  package let port: Int
  /// The certificates in use.
  package let certificates: PeerCertificates

  private let directory: PeerDirectory
  private let process: PeerProcess

  private init(port: Int, certificates: PeerCertificates, directory: PeerDirectory, process: PeerProcess) {
    self.port = port
    self.certificates = certificates
    self.directory = directory
    self.process = process
  }

  /// Starts it and waits until it accepts connections.
  package static func start() async throws -> LighttpdPeer {
    let program = try PeerProcess.find(["lighttpd"], package: "lighttpd")
    let certificates = try await PeerCertificates()
    return try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      try directory.write("a line of text\n", to: "www/page")
      let file = try directory.write(
        """
        server.modules = ( "mod_openssl" )
        server.document-root = "\(directory.file("www"))"
        server.bind = "127.0.0.1"
        server.port = \(port)
        server.max-keep-alive-requests = \(requests)
        ssl.engine = "enable"
        ssl.pemfile = "\(certificates.server)"
        ssl.privkey = "\(certificates.serverKey)"

        """, to: "lighttpd.conf")
      let launch = PeerProcess.Launch(program: program, arguments: ["-D", "-f", file])
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return LighttpdPeer(port: port, certificates: certificates, directory: directory, process: process)
    }
  }

  /// Kills it.
  package func stop() { process.stop() }
}
