// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Lastro
import LastroSupport
import LastroTesting

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Serves a demo API over HTTPS on this machine, for the guides and for experiments.",
    discussion: """
      It listens on a port of 127.0.0.1 until SIGINT or SIGTERM, and prints one line with its address for other \
      programs. Each run has a new certificate.

      EXIT STATUS: 0 when a signal ended it, 1 when it cannot listen or write.
      """)

  @Option(name: .shortAndLong, help: "Port. Default: a free one.")
  var port: UInt16 = 0
  @Option(help: "File for the PEM text of its root. Default: a temporary file, which is removed at the end.")
  var cacert: String?

  func run() async throws {
    let end = OneAnswer<Void>()
    let signals = Signals { end.give(()) }
    defer { signals.restore() }
    let (server, roots) = try start()
    defer {
      server.stop()
      if cacert == nil { unlink(roots) }
    }
    try Console.out("export GITHUB_API=\(server.baseURL) SSL_CERT_FILE=\(roots)")
    try Console.out("# Enter that in another terminal. The server runs until you press Ctrl-C here.")
    await end.value()
  }

  private func start() throws -> (server: LoopbackServer, roots: String) {
    let root: CertificateAuthority, server: LoopbackServer
    do {
      root = try CertificateAuthority(commonName: "Demo root")
      let identity = try root.issue(hosts: ["localhost", "127.0.0.1"])
      server = try .demo(port: port, tls: LoopbackTLS(identity))
    } catch {
      Console.error("lastro: cannot listen on port \(port) of 127.0.0.1: \("\(error)".onOneLine) (give another --port)")
      throw ExitCode(1)
    }
    let folder = FileManager.default.temporaryDirectory.path()
    let roots = cacert ?? "\(folder.hasSuffix("/") ? folder : folder + "/")lastro-demo-root-\(getpid()).pem"
    do {
      try Data(root.rootPEM.utf8).write(to: URL(filePath: roots), options: .atomic)
    } catch {
      Console.error("lastro: cannot write \(roots.onOneLine) (check that its directory exists and may be written to)")
      throw ExitCode(1)
    }
    return (server, roots)
  }
}
