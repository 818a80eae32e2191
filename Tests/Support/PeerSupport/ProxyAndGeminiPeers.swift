// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// squid as a forward proxy without a cache: over HTTP, over HTTPS, and over HTTP with a password.
///
/// It responds with 403 to every request for the host `refused.test`.
package enum SquidPeer {
  /// The user name for ``Peer/authenticatedPort``.
  package static let user = "lastro"
  /// The password for ``Peer/authenticatedPort``.
  package static let password = "secret"

  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["squid"], package: "squid")
    let openssl = try PeerProcess.find(["openssl"], package: "openssl")
    let certificates = try await PeerCertificates()
    return try await Peer.start(ports: 3, certificates: certificates) { directory, ports in
      try await PeerProcess.run(openssl, ["passwd", "-apr1", password], in: directory)
      try directory.write("\(user):\(directory.text(of: "log"))", to: "users")
      try directory.write(try Data(contentsOf: URL(filePath: certificates.server)), to: "server.pem")
      try directory.write(try Data(contentsOf: URL(filePath: certificates.serverKey)), to: "server.key")
      let file = try directory.write(configuration(ports: ports, directory: directory), to: "squid.conf")
      return launch(program, file, in: directory)
    }
  }

  /// Starts squid as a proxy over HTTP only.
  ///
  /// - Parameter idle: the number of seconds after which an idle connection is closed.
  static func site(idle: Int) async throws -> Peer {
    let program = try PeerProcess.find(["squid"], package: "squid")
    return try await Peer.start { directory, ports in
      let file = try directory.write(
        """
        http_port 127.0.0.1:\(ports[0])
        client_idle_pconn_timeout \(idle) seconds
        http_access allow all
        logformat lastro %rm %ru %>Hs
        \(surroundings(in: directory))
        """, to: "squid.conf")
      return launch(program, file, in: directory)
    }
  }

  /// Returns the parameters to start squid with. Its shared memory is named after the service name, which is unique so
  /// that two peers do not share it.
  fileprivate static func launch(_ program: String, _ file: String, in directory: PeerDirectory) -> PeerProcess.Launch {
    directory.give(to: PeerProcess.unprivilegedUser)
    return PeerProcess.Launch(
      program: program, arguments: ["-N", "-n", directory.name, "-d", "1", "-f", file], dropsRoot: true,
      deathSignal: "TERM")
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
    logformat lastro %rm %ru %>Hs
    \(surroundings(in: directory))
    """
  }

  /// Returns the last part of each configuration: no cache, an access log in the format `lastro`, and no requests to
  /// other servers.
  fileprivate static func surroundings(in directory: PeerDirectory) -> String {
    """
    cache deny all
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

extension Peer {
  /// The port of squid as an HTTPS proxy. Its certificate is ``PeerCertificates/server``.
  package var tlsPort: Int { ports[1] }
  /// The port of squid as an HTTP proxy that requires Basic credentials, and responds with 407 without them.
  package var authenticatedPort: Int { ports[2] }
}

/// squid as a reverse proxy that requires Digest authentication (401; MD5, `auth`) and forwards the authenticated
/// requests. squid's own requests to the origin server are switched off.
///
/// It counts uses: a nonce is stale after ``uses`` requests, and a nonce count out of sequence is also reported as
/// stale.
package enum DigestPeer {
  /// The name of the only user.
  package static let user = "lastro"
  /// The password of that user.
  package static let password = "pass \"word\", ß"
  /// The number of requests that a nonce is valid for.
  package static let uses = 5

  /// - Parameter upstream: the port of the origin server.
  package static func start(upstream: Int) async throws -> Peer {
    let program = try PeerProcess.find(["squid"], package: "squid")
    return try await Peer.start { directory, ports in
      try directory.write("\(user):\(password)", to: "users")
      let file = try directory.write(
        configuration(ports[0], upstream: upstream, directory: directory), to: "squid.conf")
      return SquidPeer.launch(program, file, in: directory)
    }
  }

  private static func configuration(_ port: Int, upstream: Int, directory: PeerDirectory) -> String {
    """
    http_port 127.0.0.1:\(port) accel defaultsite=127.0.0.1 no-vhost
    cache_peer 127.0.0.1 parent \(upstream) 0 no-query no-digest no-netdb-exchange originserver
    auth_param digest program /usr/lib/squid/digest_file_auth \(directory.file("users"))
    auth_param digest children 1
    auth_param digest realm a realm, of squid
    auth_param digest nonce_max_count \(uses)
    auth_param digest check_nonce_count on
    auth_param digest nonce_strictness on
    acl known proxy_auth REQUIRED
    http_access allow known
    http_access deny all
    logformat lastro %>Hs
    \(SquidPeer.surroundings(in: directory))
    """
  }
}

/// Dante as a SOCKS 5 proxy without authentication, for destinations on this machine only.
package enum DantePeer {
  /// Whether the program is installed. Debian 13 has no package of it.
  package static var isInstalled: Bool { (try? find()) != nil }

  private static func find() throws -> String {
    try PeerProcess.find(["danted", "sockd"], package: "dante-server")
  }

  package static func start() async throws -> Peer {
    let program = try find()
    return try await Peer.start { directory, ports in
      let file = try directory.write(configuration(port: ports[0]), to: "danted.conf")
      directory.give(to: PeerProcess.unprivilegedUser)
      return PeerProcess.Launch(
        program: program, arguments: ["-f", file, "-p", directory.file("danted.pid")], dropsRoot: true)
    }
  }

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

/// molly-brown, a Gemini server in Go, with a self-signed certificate for `localhost`.
///
/// | path | response |
/// |---|---|
/// | `/` | a page of gemtext |
/// | `/big.bin` | a million bytes |
/// | `/old` | 31 to `/` |
/// | `/private/page.gmi` | 60 without a client certificate, else 61 |
package enum MollyBrownPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["molly-brown"], package: "molly-brown")
    return try await Peer.start { directory, ports in
      try await GeminiCertificate.make(in: directory)
      try directory.write("# Molly\n=> /big.bin A file\n", to: "site/index.gmi")
      try directory.write(Data(repeating: 7, count: 1_000_000), to: "site/big.bin")
      try directory.write("secret\n", to: "site/private/page.gmi")
      let file = try directory.write(
        """
        Hostname = "localhost"
        Port = \(ports[0])
        CertPath = "\(directory.file("cert.pem"))"
        KeyPath = "\(directory.file("key.pem"))"
        DocBase = "\(directory.file("site"))"
        AccessLog = "\(directory.file("access.log"))"
        ErrorLog = "\(directory.file("error.log"))"

        [PermRedirects]
        "/old" = "/"

        [CertificateZones]
        "^/private/" = [ "0000000000000000000000000000000000000000000000000000000000000000" ]

        """, to: "molly.conf")
      directory.give(to: PeerProcess.unprivilegedUser)
      return PeerProcess.Launch(program: program, arguments: ["-c", file], dropsRoot: true)
    }
  }
}

/// jetforce, a Gemini server in Python, with a self-signed certificate for `localhost`. `make setup` installs it.
///
/// | path | response |
/// |---|---|
/// | `/` | a page of gemtext |
/// | `/cgi-bin/input` | 10 without a query, else 20 with the query |
/// | `/cgi-bin/who` | 60 without a client certificate, else 20 with the common name of the certificate |
/// | `/cgi-bin/slow` | 44 with 7 seconds |
package enum JetforcePeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.installed("jetforce")
    return try await Peer.start { directory, ports in
      try await GeminiCertificate.make(in: directory)
      try directory.write("# Jetforce\n", to: "site/index.gmi")
      for (name, script) in [
        (
          "input",
          "if [ -z \"$QUERY_STRING\" ]; then printf '10 Say\\r\\n'; else printf '20 text/plain\\r\\n%s' \"$QUERY_STRING\"; fi"
        ),
        (
          "who",
          "if [ -z \"$TLS_CLIENT_HASH\" ]; then printf '60 Who?\\r\\n'; else printf '20 text/plain\\r\\n%s' \"$REMOTE_USER\"; fi"
        ),
        ("slow", "printf '44 7\\r\\n'"),
      ] {
        let file = try directory.write("#!/bin/sh\n\(script)\n", to: "site/cgi-bin/\(name)")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file)
      }
      return PeerProcess.Launch(
        program: program,
        arguments: [
          "--port", "\(ports[0])", "--hostname", "localhost", "--dir", directory.file("site"), "--tls-certfile",
          directory.file("cert.pem"), "--tls-keyfile", directory.file("key.pem"),
        ])
    }
  }
}

extension Peer {
  /// Returns a URL of a Gemini server.
  package func url(_ path: String) -> String { "gemini://localhost:\(port)\(path)" }
}

private enum GeminiCertificate {
  /// Writes `cert.pem` and `key.pem`.
  static func make(in directory: PeerDirectory) async throws {
    let openssl = try PeerProcess.find(["openssl"], package: "openssl")
    try await PeerProcess.run(
      openssl,
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", directory.file("key.pem"), "-out",
        directory.file("cert.pem"),
      ], in: directory)
  }
}

/// obfs4proxy 0.0.14 as a server or as a client. Its process is managed as Tor does: through its environment (pt-spec
/// §3.2) and the lines that it prints.
package enum Obfs4ProxyPeer {
  /// An obfs4 server that forwards every stream to one port of this machine.
  package struct Server: Sendable {
    package let peer: Peer
    /// The certificate in the form that obfs4proxy prints: 70 characters.
    package let certificate: String

    package var port: Int { peer.port }

    /// Returns the bridge line, such as `obfs4 127.0.0.1:40123 cert=… iat-mode=0`.
    ///
    /// - Parameter mode: the `iat-mode` of the client.
    package func bridgeLine(mode: Int = 0) -> String {
      "obfs4 127.0.0.1:\(port) cert=\(certificate) iat-mode=\(mode)"
    }
  }

  /// An obfs4 client, which is a SOCKS 5 proxy. It dials the obfs4 server that a SOCKS request names.
  package struct Client: Sendable {
    package let peer: Peer
    /// The port that the client listens on.
    package let port: Int

    /// Returns the SOCKS user name and password that carry the arguments of the server. The user name has the first 255
    /// bytes.
    package static func login(certificate: String, mode: Int) -> (user: String, password: String) {
      ("cert=\(certificate);iat-mode=\(mode)", "\0")
    }
  }

  /// The server's node id, its key, and the seed of its table of lengths. The default seed is random, and in mode 2
  /// obfs4proxy exits if the table contains the length 0, as one in thirty tables does. The table of this seed, the
  /// first of `length_tables` in the vectors, does not contain 0.
  private static let identity =
    "obfs4:node-id=\(String(repeating: "6c", count: 20));obfs4:private-key=\(String(repeating: "40", count: 32));"
    + "obfs4:drbg-seed=6465666768696a6b6c6d6e6f707172737475767778797a7b"

  /// - Parameters:
  ///   - target: the port that streams are forwarded to.
  ///   - mode: the `iat-mode` of the server.
  package static func server(to target: Int, mode: Int = 0) async throws -> Server {
    let peer = try await start(ports: 1) { ports in
      [
        "TOR_PT_SERVER_TRANSPORTS=obfs4", "TOR_PT_SERVER_BINDADDR=obfs4-127.0.0.1:\(ports[0])",
        "TOR_PT_ORPORT=127.0.0.1:\(target)", "TOR_PT_SERVER_TRANSPORT_OPTIONS=\(identity);obfs4:iat-mode=\(mode)",
      ]
    }
    let line = try await line(of: peer, beginning: "SMETHOD obfs4 ")
    guard let arguments = line.split(separator: "cert=").last, let end = arguments.firstIndex(of: ",") else {
      throw PeerError("obfs4proxy has no certificate: \(line)")
    }
    return Server(peer: peer, certificate: String(arguments[..<end]))
  }

  package static func client() async throws -> Client {
    let peer = try await start(ports: 0) { _ in ["TOR_PT_CLIENT_TRANSPORTS=obfs4"] }
    let line = try await line(of: peer, beginning: "CMETHOD obfs4 socks5 ")
    guard let port = line.split(separator: ":").last.flatMap({ Int($0) }) else {
      throw PeerError("obfs4proxy names no port: \(line)")
    }
    return Client(peer: peer, port: port)
  }

  private static func start(ports count: Int, _ environment: ([Int]) -> [String]) async throws -> Peer {
    let program = try PeerProcess.find(["obfs4proxy"], package: "obfs4proxy")
    let env = try PeerProcess.find(["env"], package: "coreutils")
    return try await Peer.start(ports: count) { directory, ports in
      directory.give(to: PeerProcess.unprivilegedUser)
      // The parent-death signal ends it. TOR_PT_EXIT_ON_STDIN_CLOSE would end it at once, because it has no input.
      let common = [
        "TOR_PT_MANAGED_TRANSPORT_VER=1", "TOR_PT_STATE_LOCATION=\(directory.file("state"))",
        "TOR_PT_EXIT_ON_STDIN_CLOSE=0",
      ]
      return PeerProcess.Launch(program: env, arguments: common + environment(ports) + [program], dropsRoot: true)
    }
  }

  /// Returns the line with the given start that obfs4proxy prints when it listens. Waits at most 30 seconds for it.
  private static func line(of peer: Peer, beginning start: String) async throws -> String {
    try await LifelongThread.shared.perform {
      for _ in 0..<30_000 {
        if let line = peer.log().first(where: { $0.hasPrefix(start) }) { return line }
        usleep(1000)
      }
      throw PeerError("obfs4proxy did not start:\n\(peer.log().joined(separator: "\n"))")
    }
  }
}

/// shadowsocks-libev 3.3.5 as a server, which connects to the destinations that its clients name, or as a client, which
/// is a SOCKS 5 proxy.
package enum ShadowsocksPeer {
  /// The password of every server.
  package static let password = "pass:word/ß"

  /// - Parameter method: the cipher, such as `aes-256-gcm`.
  package static func server(_ method: String) async throws -> Peer {
    try await start("ss-server") { ports in ["-s", "127.0.0.1", "-p", "\(ports[0])", "-m", method] }
  }

  /// - Parameter port: the server's port on this machine.
  package static func client(of port: Int, _ method: String, password: String = password) async throws -> Peer {
    try await start("ss-local", password: password) { ports in
      ["-s", "127.0.0.1", "-p", "\(port)", "-b", "127.0.0.1", "-l", "\(ports[0])", "-m", method]
    }
  }

  private static func start(
    _ name: String, password: String = password, _ arguments: ([Int]) -> [String]
  ) async throws -> Peer {
    let program = try PeerProcess.find([name], package: "shadowsocks-libev")
    return try await Peer.start { directory, ports in
      directory.give(to: PeerProcess.unprivilegedUser)
      return PeerProcess.Launch(
        program: program, arguments: arguments(ports) + ["-k", password, "-t", "600"], dropsRoot: true)
    }
  }
}

extension Peer {
  /// Returns the percent-encoded URI of a Shadowsocks server.
  package func shadowsocksURI(_ method: String) -> String {
    "ss://\(method):pass%3Aword%2F%C3%9F@127.0.0.1:\(port)"
  }
}

/// fastapi-tusd, a tus 1.0.0 server in Python, over plain HTTP. `make setup` installs it.
///
/// Uploads are created at `/files`. `GET` of an upload returns the bytes received so far.
package enum TusPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.installed("hypercorn")
    return try await Peer.start { directory, ports in
      let application = try directory.write(
        """
        from fastapi import FastAPI
        from fastapi_tusd import TusRouter

        application = FastAPI()
        application.include_router(
            TusRouter(store_dir="\(directory.file("uploads"))", location="http://127.0.0.1:\(ports[0])/files"),
            prefix="/files")

        """, to: "application.py")
      return PeerProcess.Launch(
        program: program, arguments: ["--bind", "127.0.0.1:\(ports[0])", "\(application):application"])
    }
  }
}
