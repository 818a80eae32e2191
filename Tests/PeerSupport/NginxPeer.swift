// SPDX-License-Identifier: Apache-2.0

import Glibc

/// nginx with one listener for each way of reaching it. What it answers stands in ``NginxConfiguration``.
package final class NginxPeer: Sendable {
  /// Who listens where.
  package struct Ports: Sendable {
    /// HTTP/1.1 in the clear.
    package let plain: Int
    /// HTTP/2 in the clear, prior knowledge only (h2c).
    package let h2c: Int
    /// HTTP/2 and HTTP/1.1 over TLS 1.2 and 1.3, by ALPN.
    package let tls: Int
    /// HTTP/1.1 over TLS.
    package let tlsHTTP1: Int
    /// As ``tls``, and a client certificate of the authority is required.
    package let clientCertificate: Int
    /// TLS 1.0 and 1.1 only.
    package let obsoleteTLS: Int
    /// One for each ``NginxPeer/Site`` asked for: HTTP/1.1 over TLS.
    package let sites: [Int]

    var all: [Int] { [plain, h2c, tls, tlsHTTP1, clientCertificate, obsoleteTLS] + sites }

    init(sites count: Int) throws {
      sites = try (0..<count).map { _ in try Loopback.freePort() }
      plain = try Loopback.freePort()
      h2c = try Loopback.freePort()
      tls = try Loopback.freePort()
      tlsHTTP1 = try Loopback.freePort()
      clientCertificate = try Loopback.freePort()
      obsoleteTLS = try Loopback.freePort()
    }
  }

  /// A listener with a certificate and TLS versions of its own.
  package struct Site: Sendable {
    let chainPEM: String
    let privateKeyPEM: String
    let protocols: String
    let clientAuthorityPEM: String?
    let ocspResponse: [UInt8]?

    /// - Parameters:
    ///   - protocols: as nginx writes them.
    ///   - clientAuthorityPEM: when given, a client certificate of this authority is required.
    ///   - ocspResponse: DER of what is stapled; by default nothing is.
    package init(
      chainPEM: String, privateKeyPEM: String, protocols: String = "TLSv1.2 TLSv1.3",
      clientAuthorityPEM: String? = nil, ocspResponse: [UInt8]? = nil
    ) {
      self.chainPEM = chainPEM
      self.privateKeyPEM = privateKeyPEM
      self.protocols = protocols
      self.clientAuthorityPEM = clientAuthorityPEM
      self.ocspResponse = ocspResponse
    }
  }

  /// Who listens where.
  package let ports: Ports
  /// The certificates in use.
  package let certificates: PeerCertificates
  /// Path of the Unix socket that speaks HTTP/1.1 in the clear.
  package var socketPath: String { directory.file("nginx.sock") }

  private let directory: PeerDirectory
  private let process: PeerProcess

  private init(ports: Ports, certificates: PeerCertificates, directory: PeerDirectory, process: PeerProcess) {
    self.ports = ports
    self.certificates = certificates
    self.directory = directory
    self.process = process
  }

  /// Starts it and waits until it accepts connections.
  ///
  /// - Parameters:
  ///   - sites: further listeners.
  ///   - reloads: whether certificates will be replaced: that takes a master process with a worker.
  package static func start(sites: [Site] = [], reloads: Bool = false) async throws -> NginxPeer {
    let program = try PeerProcess.find(["nginx"], package: "nginx-light")
    let certificates = try await PeerCertificates()
    return try await attempting {
      let directory = try PeerDirectory()
      let ports = try Ports(sites: sites.count)
      try NginxConfiguration.writeFiles(to: directory)
      try directory.write("", to: "temporary/keep")
      let locations = NginxConfiguration.locations(directory: directory, upstream: ports.plain)
      try directory.write(locations, to: "locations.conf")
      let configuration = try NginxConfiguration.text(
        ports: ports, certificates: certificates, directory: directory, sites: sites, reloads: reloads)
      let file = try directory.write(configuration, to: "nginx.conf")
      // `-e` before the configuration is read: the built-in path may not be ours to write.
      // A master that dies takes its workers along when it is asked to.
      let launch = PeerProcess.Launch(
        program: program, arguments: ["-e", "stderr", "-p", directory.path, "-c", file],
        deathSignal: reloads ? "TERM" : "KILL")
      let process = try await PeerProcess.start(launch, in: directory, ports: ports.all)
      return NginxPeer(ports: ports, certificates: certificates, directory: directory, process: process)
    }
  }

  /// One line for each request answered so far: connection number, method, target, protocol, status, request bytes.
  package func accessLog() -> [String] {
    directory.text(of: "access.log").split(separator: "\n").map(String.init)
  }

  /// The bytes that were put to `/upload/NAME`; empty when none were.
  package func uploaded(_ name: String) -> String { directory.text(of: "www/upload/\(name)") }

  /// For one started with `reloads`. Puts other files in the place of a site's certificate and key, makes nginx read its configuration again (SIGHUP), as
  /// `nginx -s reload` does, and waits until every new connection sees the certificate. Idle connections are closed.
  ///
  /// - Parameters:
  ///   - index: of the site among those asked for.
  ///   - site: certificate and key; the rest stays as it was.
  /// - Throws: ``PeerError`` when the worker with the old one still accepts connections after two minutes.
  package func replaceCertificate(ofSite index: Int, with site: Site) async throws {
    try directory.write(site.chainPEM, to: "site\(index).pem")
    try directory.write(site.privateKeyPEM, to: "site\(index).key")
    let socket = try ListeningSocket(port: ports.sites[index])
    let replaced = socket.owners().subtracting([process.id])
    kill(process.id, SIGHUP)
    // The new worker accepts before the old one ceases to: a handshake that sees the new certificate proves nothing for the next.
    let deadline = ContinuousClock.now + .seconds(120)
    while ContinuousClock.now < deadline {
      let owners = socket.owners()
      if owners.isDisjoint(with: replaced), owners.count > 1 { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw PeerError("nginx does not present the new certificate:\n\(directory.text(of: "log"))")
  }

  /// Kills it.
  package func stop() { process.stop() }
}

/// Tries three times: a free port may be taken before it is used.
func attempting<T>(_ body: () async throws -> T) async throws -> T {
  for _ in 0..<2 {
    if let result = try? await body() { return result }
  }
  return try await body()
}
