// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// molly-brown, a Gemini server in Go, with a self-signed certificate for `localhost`.
///
/// | path | answer |
/// |---|---|
/// | `/` | a page of gemtext |
/// | `/big.bin` | a million bytes |
/// | `/old` | 31 to `/` |
/// | `/private/page.gmi` | 60 without a client certificate, else 61 |
package final class MollyBrownPeer: Sendable {
  /// Its port.
  package let port: Int
  private let process: PeerProcess
  private let directory: PeerDirectory

  private init(port: Int, directory: PeerDirectory, process: PeerProcess) {
    self.port = port
    self.directory = directory
    self.process = process
  }

  /// Starts it and waits until it accepts connections.
  package static func start() async throws -> MollyBrownPeer {
    let program = try PeerProcess.find(["molly-brown"], package: "molly-brown")
    return try await attempting {
      let directory = try PeerDirectory()
      try await GeminiCertificate.make(in: directory)
      try directory.write("# Molly\n=> /big.bin A file\n", to: "site/index.gmi")
      try directory.write(Data(repeating: 7, count: 1_000_000), to: "site/big.bin")
      try directory.write("secret\n", to: "site/private/page.gmi")
      let port = try Loopback.freePort()
      let file = try directory.write(
        """
        Hostname = "localhost"
        Port = \(port)
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
      let launch = PeerProcess.Launch(program: program, arguments: ["-c", file], dropsRoot: true)
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return MollyBrownPeer(port: port, directory: directory, process: process)
    }
  }

  /// Kills it.
  package func stop() { process.stop() }

  /// A URL of it.
  package func url(_ path: String) -> String { "gemini://localhost:\(port)\(path)" }
}

/// jetforce, a Gemini server in Python, with a self-signed certificate for `localhost`. Made by `make setup`.
///
/// | path | answer |
/// |---|---|
/// | `/` | a page of gemtext |
/// | `/cgi-bin/input` | 10, or 20 with the query it got |
/// | `/cgi-bin/who` | 60, or 20 with the common name of the client's certificate |
/// | `/cgi-bin/slow` | 44 with 7 seconds |
package final class JetforcePeer: Sendable {
  /// Its port.
  package let port: Int
  private let process: PeerProcess
  private let directory: PeerDirectory

  private init(port: Int, directory: PeerDirectory, process: PeerProcess) {
    self.port = port
    self.directory = directory
    self.process = process
  }

  /// Starts it and waits until it accepts connections.
  package static func start() async throws -> JetforcePeer {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let program = root.appending(path: ".build-peers/bin/jetforce").path
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw PeerError("jetforce is not installed in .build-peers: run `make setup`")
    }
    return try await attempting {
      let directory = try PeerDirectory()
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
      let port = try Loopback.freePort()
      let launch = PeerProcess.Launch(
        program: program,
        arguments: [
          "--port", "\(port)", "--hostname", "localhost", "--dir", directory.file("site"), "--tls-certfile",
          directory.file("cert.pem"), "--tls-keyfile", directory.file("key.pem"),
        ])
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return JetforcePeer(port: port, directory: directory, process: process)
    }
  }

  /// Kills it.
  package func stop() { process.stop() }

  /// A URL of it.
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
