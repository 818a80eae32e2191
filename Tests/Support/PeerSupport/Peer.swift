// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import Testing

/// A server program of another project that runs while tests use it. Functions such as `SquidPeer.start()` start one.
package final class Peer: Sendable {
  /// The ports that the server listens on.
  package let ports: [Int]
  /// The first port.
  package var port: Int { ports[0] }
  /// The certificates of the server and its clients.
  package var certificates: PeerCertificates {
    get throws { try #require(minted) }
  }

  private let minted: PeerCertificates?
  private let directory: PeerDirectory
  private let process: PeerProcess

  private init(ports: [Int], certificates: PeerCertificates?, directory: PeerDirectory, process: PeerProcess) {
    self.ports = ports
    minted = certificates
    self.directory = directory
    self.process = process
  }

  deinit { stop() }

  /// Starts a server and waits until it accepts connections. It makes three attempts, because another process may bind
  /// a free port before the server does.
  ///
  /// - Parameters:
  ///   - count: the number of ports that the server listens on.
  ///   - launch: writes the files that the server reads, and returns the program and arguments to start it with.
  static func start(
    ports count: Int = 1, certificates: PeerCertificates? = nil,
    _ launch: (PeerDirectory, [Int]) async throws -> PeerProcess.Launch
  ) async throws -> Peer {
    try await attempting {
      let directory = try PeerDirectory()
      let ports = try (0..<count).map { _ in try Loopback.freePort() }
      let process = try await PeerProcess.start(launch(directory, ports), in: directory, ports: ports)
      return Peer(ports: ports, certificates: certificates, directory: directory, process: process)
    }
  }

  /// Returns the lines that the server has printed.
  package func log() -> [String] { directory.lines(of: "log") }

  /// Returns one line for each request that the server has responded to.
  package func accessLog() -> [String] { directory.lines(of: "access.log") }

  /// Kills the server, and removes the shared memory that squid leaves behind.
  package func stop() {
    process.stop()
    for part in ["metadata", "queues", "readers"] {
      try? FileManager.default.removeItem(atPath: "/dev/shm/\(directory.name)-cf__\(part).shm")
    }
  }
}

/// Calls a function up to three times, because another process may bind a free port before it is used.
func attempting<T>(_ body: () async throws -> T) async throws -> T {
  for _ in 0..<2 {
    if let result = try? await body() { return result }
  }
  return try await body()
}

/// The servers of other projects that run for the duration of a suite.
package struct Peers: Sendable {
  package enum Kind: Sendable {
    case nginx, squid, dante, python, mollyBrown, jetforce, webSocket, tus, go, signing, codings, brotli, zstd, oauth
    /// An instance of each ``PeerSite/Server``.
    case sites
  }

  @TaskLocal fileprivate static var current = Peers()

  private var nginx: NginxPeer?
  private var sites: [PeerSite.Server: PeerSite] = [:]
  private var others: [Kind: Peer] = [:]

  package static var nginx: NginxPeer { get throws { try #require(current.nginx) } }
  package static var squid: Peer { get throws { try peer(.squid) } }
  package static var dante: Peer { get throws { try peer(.dante) } }
  package static var python: Peer { get throws { try peer(.python) } }
  package static var mollyBrown: Peer { get throws { try peer(.mollyBrown) } }
  package static var jetforce: Peer { get throws { try peer(.jetforce) } }
  package static var webSocket: Peer { get throws { try peer(.webSocket) } }
  package static var tus: Peer { get throws { try peer(.tus) } }
  package static var go: Peer { get throws { try peer(.go) } }
  package static var signing: Peer { get throws { try peer(.signing) } }
  package static var codings: Peer { get throws { try peer(.codings) } }
  package static var brotli: Peer { get throws { try peer(.brotli) } }
  package static var zstd: Peer { get throws { try peer(.zstd) } }
  package static var oauth: Peer { get throws { try peer(.oauth) } }

  package static func site(_ server: PeerSite.Server) throws -> PeerSite { try #require(current.sites[server]) }

  private static func peer(_ kind: Kind) throws -> Peer { try #require(current.others[kind]) }

  fileprivate mutating func start(_ kind: Kind) async throws {
    switch kind {
    case .nginx: nginx = try await NginxPeer.start()
    case .sites: sites = try await PeerSite.startAll()
    case .squid: others[kind] = try await SquidPeer.start()
    // Tests that use it have the trait `needsDante`.
    case .dante: if DantePeer.isInstalled { others[kind] = try await DantePeer.start() }
    case .python: others[kind] = try await PythonPeer.start()
    case .mollyBrown: others[kind] = try await MollyBrownPeer.start()
    case .jetforce: others[kind] = try await JetforcePeer.start()
    case .webSocket: others[kind] = try await WebSocketPeer.start()
    case .tus: others[kind] = try await TusPeer.start()
    case .go: others[kind] = try await GoPeer.start()
    case .signing: others[kind] = try await SigningPeer.start()
    case .codings: others[kind] = try await CodingPeer.start()
    case .brotli: others[kind] = try await BrotliPeer.start()
    case .zstd: others[kind] = try await ZstdPeer.start()
    case .oauth: others[kind] = try await OAuthPeer.start()
    }
  }

  fileprivate func stop() {
    for peer in others.values { peer.stop() }
    for site in sites.values { site.stop() }
    nginx?.stop()
  }
}

/// A trait that starts peers once for a whole suite, and stops them when it has ended.
package struct PeersTrait: SuiteTrait, TestScoping {
  package let kinds: [Peers.Kind]

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
  ) async throws {
    var peers = Peers()
    for kind in kinds { try await peers.start(kind) }
    defer { peers.stop() }
    try await Peers.$current.withValue(peers, operation: function)
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test or a suite, by name, on systems without Dante. Debian 13 has no package of it.
  package static var needsDante: Self { .enabled(if: DantePeer.isInstalled, "dante-server is not installed") }
}

extension Trait where Self == PeersTrait {
  package static func peers(_ kinds: Peers.Kind...) -> Self { PeersTrait(kinds: kinds) }
}

/// A server of another project that serves the targets below, so that one test table can cover all servers.
///
/// | target | response |
/// |---|---|
/// | `/page` | ``page`` |
/// | `/file` | 3 MiB whose byte `i` is `i % 251` |
/// | `POST /mirror` | the body of the request |
/// | `POST /early/NNN` | the status NNN, before the body is read |
/// | `/trailers` | `fine`, and the trailer `x-sum`: the request's value if the server forwards it, else `none` |
///
/// The site is `localhost` over TLS, with HTTP/1.1 and HTTP/2. A target that a server does not support is missing.
package struct PeerSite: Sendable {
  package enum Server: String, CaseIterable, Sendable {
    case nginx, haproxy, lighttpd, apache, caddy, node, hypercorn, granian, nghttpd
    /// Proxies in front of nginx: squid for plain HTTP, Dante for TLS.
    case squid, dante

    /// The servers that the system has: all, or all but Dante.
    package static let installed = allCases.filter { $0 != .dante || DantePeer.isInstalled }
  }

  package static let page = "a line of text\n"
  package static let fileBytes = 3 << 20
  /// The maximum number of requests on a connection, for servers that can limit it.
  package static let requestsPerConnection = 10

  /// The URL of the site, such as `https://localhost:PORT`.
  package private(set) var base: String
  /// The URL of the same site on a port that closes a connection after one idle second.
  package private(set) var idle: String
  /// The URL of the site that serves `/early/NNN`.
  package private(set) var early: String
  /// The URL of the proxy to the site, and the URL of the proxy to ``idle``.
  package private(set) var proxy: String?
  package private(set) var idleProxy: String?
  /// The path of the PEM file of the certificate authority.
  package var authority: String { certificates.authority }

  private let certificates: PeerCertificates
  private var peers: [Peer]
  private var idlePort: Int
  /// Whether the server ends idle connections with close_notify, but keeps TCP open.
  private let keepsTCP: Bool

  /// - Parameters:
  ///   - peer: the server. Its second port closes idle connections, unless `idle` is given.
  ///   - early: a server that responds before it reads the body, if `peer` does not.
  init(_ certificates: PeerCertificates, _ peer: Peer, idle: Peer? = nil, early: Peer? = nil, keepsTCP: Bool = false) {
    self.certificates = certificates
    base = "https://localhost:\(peer.port)"
    idlePort = idle?.port ?? peer.ports[peer.ports.count > 1 ? 1 : 0]
    self.idle = "https://localhost:\(idlePort)"
    self.early = early.map { "https://localhost:\($0.port)" } ?? base
    peers = [peer, idle, early].compactMap { $0 }
    self.keepsTCP = keepsTCP
  }

  /// Returns the same site behind a proxy. The result owns the proxy, and no longer the server.
  func through(_ proxy: Peer, _ scheme: String, idle: Peer? = nil) -> PeerSite {
    var result = self
    result.idlePort = (idle ?? proxy).port
    result.proxy = "\(scheme)://127.0.0.1:\(proxy.port)"
    result.idleProxy = "\(scheme)://127.0.0.1:\(result.idlePort)"
    result.peers = [proxy, idle].compactMap { $0 }
    return result
  }

  /// Returns the same site over plain HTTP.
  func inTheClear(port: Int) -> PeerSite {
    var result = self
    result.base = "http://127.0.0.1:\(port)"
    result.idle = result.base
    result.early = result.base
    return result
  }

  /// The ports of all servers of the site.
  package var ports: [Int] { peers.flatMap(\.ports) }

  /// Waits until the server has ended the connections to ``idle`` that are idle now.
  ///
  /// - Throws: ``PeerError`` if the server has not ended them after a minute.
  package func endIdleConnections() async throws {
    // TCP stays open here. Instead, open another connection that is idle from now on: the server ends it last.
    if keepsTCP { return try await certificates.handshake(port: idlePort, "-alpn", "h2", "-ign_eof", "-quiet") }
    let deadline = ContinuousClock.now + .seconds(60)
    while Loopback.isConnected(to: idlePort) {
      guard ContinuousClock.now < deadline else { throw PeerError("Port \(idlePort) ends no idle connection.") }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  package func stop() {
    for peer in peers { peer.stop() }
  }
}

extension PeerSite {
  /// Starts an instance of each server.
  package static func startAll() async throws -> [Server: PeerSite] {
    let certificates = try await PeerCertificates()
    func site(
      _ peer: Peer, idle: Peer? = nil, early: Peer? = nil, keepsTCP: Bool = false
    ) -> PeerSite { PeerSite(certificates, peer, idle: idle, early: early, keepsTCP: keepsTCP) }

    let node = try await NodeSite.start(certificates)
    let origin = node.ports[2]
    let nginx = try await NginxSite.start(certificates, origin: origin)
    let proxied = site(nginx)
    var sites: [Server: PeerSite] = [
      .node: site(node),
      .nginx: proxied,
      .haproxy: site(try await HAProxySite.start(certificates, origin: origin, files: nginx.ports[2])),
      .lighttpd: site(try await LighttpdSite.start(certificates, origin: origin)),
      .apache: site(try await ApacheSite.start(certificates, origin: origin)),
      .caddy: site(try await CaddySite.start(certificates, origin: origin)),
      .hypercorn: site(
        try await HypercornSite.start(certificates, idle: 600),
        idle: try await HypercornSite.start(certificates, idle: 1), keepsTCP: true),
      .granian: site(
        try await GranianSite.start(certificates, idle: 60), idle: try await GranianSite.start(certificates, idle: 1)),
      .nghttpd: site(
        try await NghttpdSite.start(certificates, "--echo-upload", "--trailer", "x-sum: none"),
        early: try await NghttpdSite.start(certificates, "--early-response")),
      .squid: proxied.inTheClear(port: nginx.ports[2]).through(
        try await SquidPeer.site(idle: 600), "http", idle: try await SquidPeer.site(idle: 1)),
    ]
    if DantePeer.isInstalled { sites[.dante] = proxied.through(try await DantePeer.start(), "socks5h") }
    return sites
  }
}

/// A certificate authority made for one test run, and the certificates it has signed. They are valid for two days.
package final class PeerCertificates: Sendable {
  private let directory: PeerDirectory

  /// The path of the authority's certificate.
  package var authority: String { directory.file("ca.pem") }
  /// The path of the server's certificate: `localhost`, `lastro.test`, `*.lastro.test`, 127.0.0.1 and ::1.
  package var server: String { directory.file("server.pem") }
  /// The path of the server's private key.
  package var serverKey: String { directory.file("server.key") }
  /// The path of a client's certificate, `CN=client`.
  package var client: String { directory.file("client.pem") }
  /// The path of the client's private key.
  package var clientKey: String { directory.file("client.key") }
  /// The path of the certificate of another authority, which has signed none of these certificates.
  package var stranger: String { directory.file("stranger.pem") }

  /// Creates all certificates with the `openssl` program.
  package init() async throws {
    let directory = try PeerDirectory()
    self.directory = directory
    let openssl = try PeerProcess.find(["openssl"], package: "openssl")
    let names = "subjectAltName=DNS:localhost,DNS:lastro.test,DNS:*.lastro.test,IP:127.0.0.1,IP:::1"
    func mint(_ name: String, _ extra: [String]) async throws {
      try await PeerProcess.run(
        openssl,
        [
          "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
          "-subj", "/CN=\(name)", "-keyout", directory.file("\(name).key"), "-out", directory.file("\(name).pem"),
        ] + extra, in: directory)
    }
    let signed = ["-CA", directory.file("ca.pem"), "-CAkey", directory.file("ca.key")]
    let leaf = ["-addext", "basicConstraints=critical,CA:FALSE"]
    try await mint("ca", [])
    try await mint("stranger", [])
    try await mint("server", signed + leaf + ["-addext", names, "-addext", "extendedKeyUsage=serverAuth"])
    try await mint("client", signed + leaf + ["-addext", "extendedKeyUsage=clientAuth"])
  }

  /// Performs a TLS handshake with `localhost:port` through `openssl s_client`, and checks its certificate.
  ///
  /// - Parameters:
  ///   - port: the server's port.
  ///   - roots: the path of the root certificates. Default: the authority's certificate.
  ///   - arguments: further arguments, such as `-alpn h2`.
  /// - Throws: ``PeerError`` with the output of `openssl` if the handshake fails.
  package func handshake(port: Int, roots: String? = nil, _ arguments: String...) async throws {
    let openssl = try PeerProcess.find(["openssl"], package: "openssl")
    try await PeerProcess.run(
      openssl,
      [
        "s_client", "-connect", "127.0.0.1:\(port)", "-servername", "localhost", "-verify_hostname", "localhost",
        "-CAfile", roots ?? authority, "-verify_return_error",
      ] + arguments, in: try PeerDirectory())
  }
}

/// The `openssl` program, an implementation to compare our results with.
package enum OpenSSLProgram {
  /// Runs a shell script that may call `openssl` in a directory, and returns its output, including standard error.
  ///
  /// - Parameters:
  ///   - script: the script for `sh`. The exit status of a pipeline is that of its last command.
  ///   - directory: the working directory.
  /// - Throws: ``PeerError`` with the output if the script fails.
  package static func run(_ script: String, in directory: PeerDirectory) async throws -> String {
    _ = try PeerProcess.find(["openssl"], package: "openssl")
    let shell = try PeerProcess.find(["sh"], package: "dash")
    // A separate directory, because the output is appended to the log in it.
    let output = try PeerDirectory()
    try await PeerProcess.run(shell, ["-e", "-c", "cd '\(directory.path)'\n\(script)"], in: output)
    return output.text(of: "log")
  }
}

extension PeerCertificates {
  /// The server's certificate and key as one PEM file, for servers that read a single file.
  var serverWithKey: Data {
    get throws { try Data(contentsOf: URL(filePath: server)) + Data(contentsOf: URL(filePath: serverKey)) }
  }
}
