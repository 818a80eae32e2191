// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Synchronization

/// A server of Redis, or of Valkey, that a test starts for itself. It keeps nothing on disk.
///
/// It listens on a port of 127.0.0.1 and on a Unix socket.
package final class RedisPeer: Sendable {
  /// The port, which stays the same when the server is started again.
  package let port: Int
  /// The path of the Unix socket.
  package var socket: String { directory.file("redis.sock") }

  private let directory: PeerDirectory
  private let arguments: [String]
  private let process: Mutex<PeerProcess>

  private init(port: Int, directory: PeerDirectory, arguments: [String], process: PeerProcess) {
    self.port = port
    self.directory = directory
    self.arguments = arguments
    self.process = Mutex(process)
  }

  deinit { stop() }

  /// Starts a server and waits until it accepts connections.
  ///
  /// - Parameters:
  ///   - certificates: the certificates for TLS on the port. Default `nil`: no TLS.
  ///   - further: further arguments, such as `--user` with the rules of an ACL user.
  package static func start(certificates: PeerCertificates? = nil, _ further: String...) async throws -> RedisPeer {
    try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      var arguments = [
        "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory.path,
        "--unixsocket", directory.file("redis.sock"), "--repl-diskless-sync-delay", "0",
      ]
      arguments += settings(of: port, certificates).flatMap { ["--\($0)", $1] } + further
      let process = try await launch(arguments, in: directory, port: port)
      return RedisPeer(port: port, directory: directory, arguments: arguments, process: process)
    }
  }

  /// Starts a sentinel that monitors a server under the name `fleet`, and replaces it a second after it was lost.
  ///
  /// - Parameters:
  ///   - certificates: the certificates for TLS on its port and to the server. Default `nil`: no TLS.
  ///   - further: further lines of its configuration.
  package static func startSentinel(
    of primary: RedisPeer, certificates: PeerCertificates? = nil, _ further: String...
  ) async throws -> RedisPeer {
    try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      let lines = [
        "bind 127.0.0.1", "dir \(directory.path)",
        "sentinel monitor fleet 127.0.0.1 \(primary.port) 1", "sentinel down-after-milliseconds fleet 1000",
        "sentinel failover-timeout fleet 1000",
      ]
      let first = settings(of: port, certificates).map { "\($0) \($1)" }
      // It writes to its file.
      let file = try directory.write((first + lines + further).joined(separator: "\n") + "\n", to: "sentinel.conf")
      let arguments = [file, "--sentinel"]
      let process = try await launch(arguments, in: directory, port: port)
      return RedisPeer(port: port, directory: directory, arguments: arguments, process: process)
    }
  }

  /// Returns the settings of a port, with TLS if there are certificates.
  private static func settings(of port: Int, _ certificates: PeerCertificates?) -> [(String, String)] {
    guard let certificates else { return [("port", "\(port)")] }
    return [
      ("port", "0"), ("tls-port", "\(port)"), ("tls-cert-file", certificates.server),
      ("tls-key-file", certificates.serverKey), ("tls-ca-cert-file", certificates.authority),
      ("tls-auth-clients", "no"), ("tls-replication", "yes"),
    ]
  }

  private static func launch(
    _ arguments: [String], in directory: PeerDirectory, port: Int
  ) async throws -> PeerProcess {
    let program = try PeerProcess.find(["redis-server", "valkey-server"], package: "redis-server")
    return try await PeerProcess.start(
      PeerProcess.Launch(program: program, arguments: arguments), in: directory, ports: [port])
  }

  /// Stops the server's execution, while the kernel still accepts its connections.
  package func pause() { process.withLock { _ = kill($0.id, SIGSTOP) } }

  /// Continues after ``pause()``.
  package func resume() { process.withLock { _ = kill($0.id, SIGCONT) } }

  /// Kills the server.
  package func stop() { process.withLock { $0.stop() } }

  /// Starts the server again after ``stop()``, on the same port and without data.
  package func restart() async throws {
    let started = try await Self.launch(arguments, in: directory, port: port)
    process.withLock { $0 = started }
  }

  /// Sends a command over a connection of its own, without TLS, and returns the first line of the reply.
  @discardableResult
  package func command(_ words: String...) throws -> String {
    String(try exchange(words).prefix { $0 != "\r\n" })
  }

  /// Returns the whole reply to a command over a connection of its own, with the lines in between.
  package func reply(_ words: String...) throws -> String {
    try exchange(words)
  }

  private func exchange(_ words: [String]) throws -> String {
    let command = "*\(words.count)\r\n" + words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
    // QUIT makes a server close the connection, and a sentinel does not know it: the first bytes have its short replies.
    let isSentinel = arguments.last == "--sentinel"
    let bytes = Array((command + (isSentinel ? "" : "*1\r\n$4\r\nQUIT\r\n")).utf8)
    let reply = try Loopback.exchange(port: port, sending: bytes, limit: isSentinel ? 1 : 1 << 20)
    return String(decoding: reply, as: UTF8.self)
  }
}

/// The reader of hiredis, the C library of Redis, through its Python package: an implementation to compare with.
package enum HiredisPeer {
  /// Reads each input alone, and returns the complete replies as text; `error` at the end if the rest is invalid.
  package static func read(_ inputs: [[UInt8]]) async throws -> [String] {
    let program = try PeerProcess.installed("python")
    let directory = try PeerDirectory()
    let lines = inputs.map { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
    let data = try directory.write(lines.joined(separator: "\n") + "\n", to: "inputs")
    let file = try directory.write(script, to: "read.py")
    try await PeerProcess.run(program, ["-I", file, data], in: directory)
    return directory.text(of: "log").split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(
      String.init)
  }

  private static let script = #"""
    import hiredis, sys

    def text(value):
        if value is None:
            return "null"
        if isinstance(value, list):
            return "[" + ",".join(map(text, value)) + "]"
        if isinstance(value, hiredis.ReplyError):
            return "-" + str(value).encode("utf-8", "surrogateescape").hex()
        if isinstance(value, int):
            return f":{value}"
        return "$" + bytes(value).hex()

    for line in open(sys.argv[1]):
        reader, replies = hiredis.Reader(), []
        reader.feed(bytes.fromhex(line.strip()))
        try:
            while (value := reader.gets()) is not False:
                replies.append(text(value))
        except hiredis.ProtocolError:
            replies.append("error")
        print(" ".join(replies))

    """#
}
