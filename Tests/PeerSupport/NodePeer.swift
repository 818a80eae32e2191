// SPDX-License-Identifier: Apache-2.0

/// Node's HTTP/2 server. It reads no body: `/early/NNN` is answered with that status and `early` at once, with a
/// `content-length`; `/unmeasured/NNN` likewise without one.
package final class NodePeer: Sendable {
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
  package static func start() async throws -> NodePeer {
    let program = try PeerProcess.find(["node", "nodejs"], package: "nodejs")
    let certificates = try await PeerCertificates()
    return try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      let file = try directory.write(script, to: "server.js")
      let launch = PeerProcess.Launch(
        program: program, arguments: [file, "\(port)", certificates.server, certificates.serverKey])
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return NodePeer(port: port, certificates: certificates, directory: directory, process: process)
    }
  }

  /// Kills it.
  package func stop() { process.stop() }

  private static let script = #"""
    const http2 = require("http2"), fs = require("fs");
    const [port, cert, key] = process.argv.slice(2);
    const server = http2.createSecureServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) });
    server.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      const [, kind, status] = headers[":path"].split("/");
      const head = { ":status": Number(status) };
      if (kind === "early") head["content-length"] = 5;
      stream.respond(head);
      stream.end("early");
    });
    server.on("sessionError", () => {});
    server.listen(Number(port), "127.0.0.1");

    """#
}
