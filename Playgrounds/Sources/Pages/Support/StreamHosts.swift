// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting

/// Hosts for pages about streams: servers on this machine whose certificates are for names of documentation, from a
/// root that the dialer trusts. So samples run as they stand in their guides, over TLS, and nothing leaves the machine.
struct StreamHosts: Sendable {
  private let root: CertificateAuthority
  let engine: CurlDialer
  /// The engine's configuration, for pages that make an engine of their own.
  let configuration: CurlConfiguration

  init() throws {
    root = try CertificateAuthority(commonName: "Example Root")
    var configuration = CurlConfiguration()
    configuration.connection.tls.roots = .pem(Array(root.rootPEM.utf8))
    configuration.connection.proxy = .none
    self.configuration = configuration
    engine = try CurlDialer(configuration)
  }

  /// A certificate for a host.
  func identity(_ host: String) throws -> LoopbackTLS {
    LoopbackTLS(try root.issue(hosts: [host], validity: .days(47)))
  }

  /// A dialer for which the hosts are on these ports of this machine.
  func dialer(_ ports: [String: Int]) -> LeadingDialer { LeadingDialer(engine: engine, ports: ports) }

  /// A dialer for which every host and port is this Unix socket.
  func dialer(socket path: String) -> SocketDialer {
    SocketDialer(engine: engine, options: configuration.connection, path: path)
  }
}

/// Leads a dial of a name to a port of this machine, and checks the certificate for the name all the same.
struct LeadingDialer: Dialer {
  let engine: any Dialer
  var ports: [String: Int]

  private func led(_ request: DialRequest) throws(TransportError) -> DialRequest {
    guard let port = ports[request.host] ?? ports["\(request.host):\(request.port)"] else {
      throw TransportError(stage: .resolve, code: .hostNotFound, message: "no server stands for \(request.host)")
    }
    var request = request
    if let tls = request.tls { request.tls?.serverName = tls.serverName ?? request.host }
    (request.host, request.port) = ("127.0.0.1", port)
    return request
  }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    try await engine.dial(try led(request))
  }

  func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    try await engine.dialDatagrams(try led(request))
  }
}

/// Leads to one Unix socket, whatever is dialed; for clients that are strict about ports too.
struct SocketDialer: Dialer {
  let engine: any Dialer
  let options: ConnectionOptions
  let path: String

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    var request = request
    request.connection = request.connection ?? options
    request.connection?.unixSocketPath = path
    return try await engine.dial(request)
  }
}
