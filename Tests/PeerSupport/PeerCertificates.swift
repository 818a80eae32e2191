// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A certificate authority made for one test run, and what it has signed. Valid for two days.
package final class PeerCertificates: Sendable {
  private let directory: PeerDirectory

  /// PEM of the authority.
  package var authority: String { directory.file("ca.pem") }
  /// PEM of the server's certificate: `localhost`, `lastro.test`, `*.lastro.test`, 127.0.0.1 and ::1.
  package var server: String { directory.file("server.pem") }
  /// PEM of the server's key.
  package var serverKey: String { directory.file("server.key") }
  /// PEM of a client's certificate, `CN=client`.
  package var client: String { directory.file("client.pem") }
  /// PEM of the client's key.
  package var clientKey: String { directory.file("client.key") }
  /// PEM of another authority, which has signed nothing here.
  package var stranger: String { directory.file("stranger.pem") }

  /// Mints everything with the `openssl` program.
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
  ///   - port: where the server listens.
  ///   - roots: PEM of the roots; the authority's by default.
  ///   - arguments: further arguments, such as `-alpn h2`.
  /// - Throws: ``PeerError`` with what `openssl` printed when the handshake fails.
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

/// The `openssl` program, as a second opinion.
package enum OpenSSLProgram {
  /// Runs a shell script that may call `openssl`, in a directory, and gives what it printed, errors included.
  ///
  /// - Parameters:
  ///   - script: for `sh`. A pipeline counts as its last command.
  ///   - directory: where it runs.
  /// - Throws: ``PeerError`` with what it printed when it fails.
  package static func run(_ script: String, in directory: PeerDirectory) async throws -> String {
    _ = try PeerProcess.find(["openssl"], package: "openssl")
    let shell = try PeerProcess.find(["sh"], package: "dash")
    // A directory of its own: what it prints is appended to the log there.
    let output = try PeerDirectory()
    try await PeerProcess.run(shell, ["-e", "-c", "cd '\(directory.path)'\n\(script)"], in: output)
    return output.text(of: "log")
  }
}

extension PeerCertificates {
  /// PEM of the server's certificate and key, as servers want it that read one file.
  var serverWithKey: Data {
    get throws { try Data(contentsOf: URL(filePath: server)) + Data(contentsOf: URL(filePath: serverKey)) }
  }
}
