// SPDX-License-Identifier: Apache-2.0

import Glibc

/// obfs4proxy 0.0.14, as a server or as a client, in a process of its own that is managed as Tor manages it: by its
/// environment (pt-spec §3.2), and by the lines that it prints.
package enum Obfs4ProxyPeer {
  /// A server, which leads every stream to one port of this machine.
  package struct Server: Sendable {
    package let peer: Peer
    /// As it prints it: 70 characters.
    package let certificate: String

    package var port: Int { peer.port }

    /// Such as `obfs4 127.0.0.1:40123 cert=… iat-mode=0`.
    ///
    /// - Parameter mode: the client's.
    package func bridgeLine(mode: Int = 0) -> String {
      "obfs4 127.0.0.1:\(port) cert=\(certificate) iat-mode=\(mode)"
    }
  }

  /// A client, which is a SOCKS 5 proxy: it dials the obfs4 server that it is asked for.
  package struct Client: Sendable {
    package let peer: Peer
    /// Where it listens.
    package let port: Int

    /// What it takes as user and password: the arguments of the server, the first 255 bytes as the user.
    package static func login(certificate: String, mode: Int) -> (user: String, password: String) {
      ("cert=\(certificate);iat-mode=\(mode)", "\0")
    }
  }

  /// - Parameters:
  ///   - target: where its streams lead.
  ///   - mode: `iat-mode` of what it sends.
  package static func server(to target: Int, mode: Int = 0) async throws -> Server {
    let peer = try await start(ports: 1) { ports in
      [
        "TOR_PT_SERVER_TRANSPORTS=obfs4", "TOR_PT_SERVER_BINDADDR=obfs4-127.0.0.1:\(ports[0])",
        "TOR_PT_ORPORT=127.0.0.1:\(target)", "TOR_PT_SERVER_TRANSPORT_OPTIONS=obfs4:iat-mode=\(mode)",
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
      // It ends with us by the signal: with TOR_PT_EXIT_ON_STDIN_CLOSE it would end at once, for it has no input.
      let common = [
        "TOR_PT_MANAGED_TRANSPORT_VER=1", "TOR_PT_STATE_LOCATION=\(directory.file("state"))",
        "TOR_PT_EXIT_ON_STDIN_CLOSE=0",
      ]
      return PeerProcess.Launch(program: env, arguments: common + environment(ports) + [program], dropsRoot: true)
    }
  }

  /// A line that it prints when it listens; waited for half a minute at most.
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
