// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// haproxy in front of an origin server: HTTP/2 over TLS outside, HTTP/1.1 in the clear inside.
package final class HAProxyPeer: Sendable {
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
  ///
  /// - Parameter upstream: port of the origin server behind it.
  package static func start(upstream: Int) async throws -> HAProxyPeer {
    let program = try PeerProcess.find(["haproxy"], package: "haproxy")
    let certificates = try await PeerCertificates()
    return try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      try directory.write(try certificates.serverWithKey, to: "server.pem")
      let file = try directory.write(
        """
        global
          maxconn 1000
        defaults
          mode http
          option http-server-close
          timeout connect 60s
          timeout client 60s
          timeout server 60s
        frontend outside
          bind 127.0.0.1:\(port) ssl crt \(directory.file("server.pem")) alpn h2,http/1.1
          default_backend inside
        backend inside
          server origin 127.0.0.1:\(upstream)

        """, to: "haproxy.cfg")
      let launch = PeerProcess.Launch(program: program, arguments: ["-db", "-f", file])
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return HAProxyPeer(port: port, certificates: certificates, directory: directory, process: process)
    }
  }

  /// Kills it.
  package func stop() { process.stop() }
}

extension PeerCertificates {
  /// PEM of the server's certificate and key, as servers want it that read one file.
  var serverWithKey: Data {
    get throws {
      try Data(contentsOf: URL(filePath: server)) + Data(contentsOf: URL(filePath: serverKey))
    }
  }
}
