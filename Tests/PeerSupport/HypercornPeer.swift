// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// hypercorn, a server in Python, over TLS. Made by `make setup`. `/early/NNN` is answered with that status and `early`
/// before the body is read, everything else with 200 and `fine` after it.
///
/// It ends connections that are idle for a second with close_notify, and waits half a minute for ours.
package final class HypercornPeer: Sendable {
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
  package static func start() async throws -> HypercornPeer {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let program = root.appending(path: ".build-peers/bin/hypercorn").path
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw PeerError("hypercorn is not installed in .build-peers: run `make setup`")
    }
    let certificates = try await PeerCertificates()
    return try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      let file = try directory.write(application, to: "application.py")
      let launch = PeerProcess.Launch(
        program: program,
        arguments: [
          "--bind", "127.0.0.1:\(port)", "--keep-alive", "1", "--certfile", certificates.server, "--keyfile",
          certificates.serverKey, "\(file):application",
        ])
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return HypercornPeer(port: port, certificates: certificates, directory: directory, process: process)
    }
  }

  /// Waits until it has ended the connections that are idle now: it ends another one, which is idle from now on, later.
  package func endIdleConnections() async throws {
    try await certificates.handshake(port: port, "-alpn", "h2", "-ign_eof", "-quiet")
  }

  /// Kills it.
  package func stop() { process.stop() }

  private static let application = #"""
    async def application(scope, receive, send):
        if scope["type"] != "http":
            return
        parts = scope["path"].split("/")
        is_early = parts[1] == "early"
        while not is_early and (await receive()).get("more_body"):
            pass
        status, body = (int(parts[2]), b"early") if is_early else (200, b"fine")
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    """#
}
