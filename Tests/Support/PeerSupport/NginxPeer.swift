// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// An nginx server with one listener for each protocol and TLS setup. ``NginxConfiguration`` lists its responses.
package final class NginxPeer: Sendable {
  /// The ports of the listeners.
  package struct Ports: Sendable {
    /// Plain HTTP/1.1.
    package let plain: Int
    /// Plain HTTP/2, with prior knowledge only (h2c).
    package let h2c: Int
    /// HTTP/2 and HTTP/1.1 over TLS 1.2 and 1.3, negotiated by ALPN.
    package let tls: Int
    /// HTTP/1.1 over TLS.
    package let tlsHTTP1: Int
    /// Like ``tls``, but it requires a client certificate of the authority.
    package let clientCertificate: Int
    /// TLS 1.0 and 1.1 only.
    package let obsoleteTLS: Int
    /// The port of each requested ``NginxPeer/Site``: HTTP/1.1 over TLS.
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

  /// A listener with its own certificate and TLS versions.
  package struct Site: Sendable {
    let chainPEM: String
    let privateKeyPEM: String
    let protocols: String
    let clientAuthorityPEM: String?
    let ocspResponse: [UInt8]?

    /// - Parameters:
    ///   - protocols: the TLS versions, in the notation of nginx.
    ///   - clientAuthorityPEM: the authority whose client certificate is required. By default none is required.
    ///   - ocspResponse: the OCSP response to staple, as DER. By default none is stapled.
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

  /// The ports of the listeners.
  package let ports: Ports
  /// The certificates of the server and its clients.
  package let certificates: PeerCertificates
  /// The path of the Unix socket that serves plain HTTP/1.1.
  package var socketPath: String { directory.file("nginx.sock") }

  private let directory: PeerDirectory
  private let process: PeerProcess

  private init(ports: Ports, certificates: PeerCertificates, directory: PeerDirectory, process: PeerProcess) {
    self.ports = ports
    self.certificates = certificates
    self.directory = directory
    self.process = process
  }

  /// Starts nginx and waits until it accepts connections.
  ///
  /// - Parameters:
  ///   - sites: additional listeners.
  ///   - reloads: whether certificates will be replaced, which requires a master process with a worker.
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
      // `-e` applies before the configuration is read. The built-in path may not be writable for us.
      // A master ends its workers when it receives SIGTERM, but not when it is killed.
      let launch = PeerProcess.Launch(
        program: program, arguments: ["-e", "stderr", "-p", directory.path, "-c", file],
        deathSignal: reloads ? "TERM" : "KILL")
      let process = try await PeerProcess.start(launch, in: directory, ports: ports.all)
      return NginxPeer(ports: ports, certificates: certificates, directory: directory, process: process)
    }
  }

  /// Returns one line for each request so far: connection number, method, target, protocol, status, request bytes.
  package func accessLog() -> [String] { directory.lines(of: "access.log") }

  /// Returns the text that was uploaded to `/upload/NAME`, or an empty text if there was no upload.
  package func uploaded(_ name: String) -> String { directory.text(of: "www/upload/\(name)") }

  /// Replaces a site's certificate and key, makes nginx reload its configuration (SIGHUP), as `nginx -s reload` does,
  /// and waits until every new connection sees the new certificate. Idle connections are closed. The server must have
  /// been started with `reloads`.
  ///
  /// - Parameters:
  ///   - index: the index of the site among the requested sites.
  ///   - site: the new certificate and key. The site's other values are ignored.
  /// - Throws: ``PeerError`` if the worker with the old certificate still accepts connections after two minutes.
  package func replaceCertificate(ofSite index: Int, with site: Site) async throws {
    try directory.write(site.chainPEM, to: "site\(index).pem")
    try directory.write(site.privateKeyPEM, to: "site\(index).key")
    let socket = try ListeningSocket(port: ports.sites[index])
    let replaced = socket.owners().subtracting([process.id])
    kill(process.id, SIGHUP)
    // The new worker accepts connections before the old one stops accepting. A handshake that sees the new certificate
    // does not prove that the next one will.
    let deadline = ContinuousClock.now + .seconds(120)
    while ContinuousClock.now < deadline {
      let owners = socket.owners()
      if owners.isDisjoint(with: replaced), owners.count > 1 { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw PeerError("nginx does not present the new certificate:\n\(directory.text(of: "log"))")
  }

  /// Kills the server.
  package func stop() { process.stop() }
}

/// The configuration of ``NginxPeer``. Every listener serves the same targets:
///
/// | target | response |
/// |---|---|
/// | `/files/NAME` | a file of ``sizes`` whose byte `i` is `i % 251`, with nginx's ranges and validators |
/// | `/slow/NAME` | the same file at 16 KiB per second |
/// | `/text` | 64 KiB of text, with `Content-Encoding: gzip` if the request accepts it |
/// | `/json` | `{"message":"hello"}` |
/// | `/status/NNN` | the status NNN (redirects lead to `/json`) |
/// | `/redirect/N` | N redirects (at most 25), then `/json` |
/// | `/redirect/loop` | a redirect to itself |
/// | `/redirect-to?to=URL` | 302 to the URL, which is not decoded |
/// | `/connection` | the connection number, the number of requests on the connection, and the protocol |
/// | `/echo` | lines: method, target, protocol, `Host`, `User-Agent`, `Authorization`, `X-Test`, the client's DN |
/// | `/client` | the client's address |
/// | `/cookies` | lines: `Cookie`, its `session` as nginx reads it; sets the cookies `session` and `proof` (`Secure`) |
/// | `/cookies/503` | 503, with the cookie `busy` |
/// | `/close` | like `/json`, and the connection is closed |
/// | `/basic` | like `/text`, for the user `lastro` with the password `secret` |
/// | `PUT /upload/NAME` | stores the body, up to 64 MiB (``NginxPeer/uploaded(_:)``); `DELETE` removes it |
/// | `POST /post` | the `Content-Length` that the upstream server received, after the body (up to 64 MiB) is read |
/// | `POST /early` | 413 without reading a body larger than 1 KiB |
/// | `POST /early/NNN` | 200, 401 or 413 without reading the body |
package enum NginxConfiguration {
  /// The names and sizes of the files under `/files/` and `/slow/`.
  package static let sizes: [(name: String, bytes: Int)] = [
    ("0", 0), ("1", 1), ("1k", 1024), ("64k", 64 * 1024), ("1m", 1024 * 1024), ("11m", 11 * 1024 * 1024),
  ]

  /// The statuses that `/status/NNN` supports.
  package static let statuses =
    Array(200...206) + [300, 301, 302, 303, 304, 307, 308] + Array(400...418) + [422, 425, 426, 428, 429, 431, 451]
    + Array(500...505) + [511, 599]

  static func writeFiles(to directory: PeerDirectory) throws {
    let period = Data(0..<251)
    var content = Data()
    for _ in 0...(11 * 1024 * 1024 / 251) { content += period }
    for (name, bytes) in sizes {
      try directory.write(content.prefix(bytes), to: "www/files/\(name)")
    }
    let line = "Ballast keeps a ship upright, and a railway rests on a bed of it.\n"
    try directory.write(String(String(repeating: line, count: 1000).prefix(64 * 1024)), to: "www/text")
    try directory.write("lastro:{PLAIN}secret\n", to: "htpasswd")
    try directory.write("", to: "www/upload/.keep")
  }

  static func text(
    ports: NginxPeer.Ports, certificates: PeerCertificates, directory: PeerDirectory, sites: [NginxPeer.Site],
    reloads: Bool
  ) throws -> String {
    let listeners: [(listen: [String], extra: String)] = [
      (["127.0.0.1:\(ports.plain)", "unix:\(directory.file("nginx.sock"))"], ""),
      (["127.0.0.1:\(ports.h2c) http2"], ""),
      (["127.0.0.1:\(ports.tls) ssl http2"], ""),
      (["127.0.0.1:\(ports.tlsHTTP1) ssl"], ""),
      (
        ["127.0.0.1:\(ports.clientCertificate) ssl http2"],
        "ssl_verify_client on; ssl_client_certificate \(certificates.authority);"
      ),
      (
        ["127.0.0.1:\(ports.obsoleteTLS) ssl"],
        "ssl_protocols TLSv1 TLSv1.1; ssl_ciphers ALL:@SECLEVEL=0;"
      ),
    ]
    let additional = try sites.enumerated().map { index, site in
      (
        listen: ["127.0.0.1:\(ports.sites[index]) ssl"],
        extra: """
        ssl_protocols \(site.protocols);
        ssl_certificate \(try directory.write(site.chainPEM, to: "site\(index).pem"));
        ssl_certificate_key \(try directory.write(site.privateKeyPEM, to: "site\(index).key"));
        \(try options(of: site, index, directory))
        """
      )
    }
    let servers = (listeners + additional).map { listener in
      """
      server {
        \(listener.listen.map { "listen \($0) backlog=4096;" }.joined(separator: " "))
        server_name localhost;
        \(listener.extra)
        include locations.conf;
      }
      """
    }
    // A single process without a master if possible, because a killed master would leave its workers running.
    let processes =
      reloads ? "worker_processes 1;" + (getuid() == 0 ? " user root;" : "") : "master_process off;"
    let global = """
      daemon off;
      \(processes)
      pid nginx.pid;
      worker_rlimit_nofile 8192;
      events { worker_connections 8000; }
      """
    let files = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "  \($0)_temp_path temporary/\($0);" }
    let http = """
        types { text/plain txt; application/json json; }
        default_type application/octet-stream;
        log_format lastro '$connection $request_method $request_uri $server_protocol $status $request_length';
        access_log access.log lastro;
        keepalive_requests 1000000;
        server_tokens off;
        gzip on;
        gzip_types text/plain application/json;
        gzip_min_length 256;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate \(certificates.server);
        ssl_certificate_key \(certificates.serverKey);
      """
    return ([global, "http {", http] + files + servers + ["}", ""]).joined(separator: "\n")
  }

  private static func options(
    of site: NginxPeer.Site, _ index: Int, _ directory: PeerDirectory
  ) throws -> String {
    var lines: [String] = []
    if let authority = site.clientAuthorityPEM {
      let file = try directory.write(authority, to: "clients\(index).pem")
      lines.append("ssl_verify_client on; ssl_client_certificate \(file);")
    }
    if let response = site.ocspResponse {
      let file = try directory.write(Data(response), to: "staple\(index).der")
      lines.append("ssl_stapling on; ssl_stapling_file \(file);")
    }
    return lines.joined(separator: "\n")
  }

  static func locations(directory: PeerDirectory, upstream: Int) -> String {
    let redirects = (1...25).map { step in
      "location = /redirect/\(step) { return 302 \(step == 1 ? "/json" : "/redirect/\(step - 1)"); }"
    }
    let early = [200, 401, 413].map { status in
      "location = /early/\(status) { client_max_body_size 64m; default_type text/plain; return \(status) early; }"
    }
    return (fixedLocations(directory: directory, upstream: upstream) + statuses.map(statusLocation) + redirects + early)
      .joined(separator: "\n") + "\n"
  }

  private static func statusLocation(_ status: Int) -> String {
    switch status {
    case 204, 205, 304: "location = /status/\(status) { return \(status); }"
    case 301, 302, 303, 307, 308: "location = /status/\(status) { return \(status) /json; }"
    default: "location = /status/\(status) { default_type text/plain; return \(status) 'status \(status)'; }"
    }
  }

  private static func fixedLocations(directory: PeerDirectory, upstream: Int) -> [String] {
    let json = #"default_type application/json; return 200 '{"message":"hello"}';"#
    let content = "alias \(directory.file("www"))"
    let echo =
      #"$request_method\n$request_uri\n$server_protocol\n$http_host\n$http_user_agent\n$http_authorization\n"#
      + #"$http_x_test\n$ssl_client_s_dn\n"#
    return [
      "location /files/ { \(content)/files/; }",
      "location /slow/ { \(content)/files/; limit_rate 16k; }",
      "location = /text { \(content)/text; default_type text/plain; }",
      "location = /json { \(json) }",
      "location = /redirect/loop { return 302 /redirect/loop; }",
      "location = /redirect-to { return 302 $arg_to; }",
      #"location = /connection { default_type text/plain; "#
        + #"return 200 "$connection $connection_requests $server_protocol"; }"#,
      "location = /echo { default_type text/plain; return 200 \"\(echo)\"; }",
      """
      location = /cookies {
        add_header Set-Cookie "session=31d4; Path=/; HttpOnly";
        add_header Set-Cookie "proof=a=b; Secure; SameSite=Lax";
        default_type text/plain; return 200 "$http_cookie\n$cookie_session";
      }
      """,
      "location = /cookies/503 { add_header Set-Cookie busy=1 always; return 503; }",
      "location = /client { default_type text/plain; return 200 $remote_addr; }",
      "location = /close { keepalive_timeout 0; \(json) }",
      "location = /basic { auth_basic lastro; auth_basic_user_file htpasswd; \(content)/text; }",
      "location /upload/ { \(content)/upload/; dav_methods PUT DELETE; client_max_body_size 64m; }",
      "location = /post { client_max_body_size 64m; proxy_pass http://127.0.0.1:\(upstream)/sink; }",
      "location = /sink { client_max_body_size 64m; default_type text/plain; return 200 $content_length; }",
      "location = /early { client_max_body_size 1k; proxy_pass http://127.0.0.1:\(upstream)/sink; }",
    ]
  }
}
