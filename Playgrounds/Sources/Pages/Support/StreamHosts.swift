// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting

/// Hosts for pages about streams: servers on this machine with certificates for example names, from a root that the
/// dialer trusts. Samples therefore run unchanged from their guides, over TLS, and no traffic leaves the machine.
struct StreamHosts: Sendable {
  private let root: CertificateAuthority
  let engine: any Dialer
  /// The engine's configuration, for pages that create their own engine.
  let configuration: CurlConfiguration

  init() throws {
    root = try CertificateAuthority(commonName: "Example Root")
    var configuration = CurlConfiguration()
    configuration.connection.tls.roots = .pem(Array(root.rootPEM.utf8))
    configuration.connection.proxy = .none
    self.configuration = configuration
    engine = try CurlNetworkStack(configuration).dialer
  }

  /// Returns the TLS settings of a server, with a new certificate for a host.
  func identity(_ host: String) throws -> LoopbackTLS {
    LoopbackTLS(try root.issue(hosts: [host], days: 0...47))
  }

  /// Returns a dialer that connects to the given ports of this machine in place of the hosts.
  func dialer(_ ports: [String: Int]) -> LeadingDialer { LeadingDialer(engine: engine, ports: ports) }

  /// Returns a dialer that connects to this Unix socket in place of any host and port.
  func dialer(socket path: String) -> SocketDialer {
    SocketDialer(engine: engine, options: configuration.connection, path: path)
  }
}

/// A dialer that connects to a port of this machine in place of a host, but still checks the certificate for the
/// host's name.
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

/// A dialer that connects to one Unix socket in place of any host. For clients that also check the port.
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
