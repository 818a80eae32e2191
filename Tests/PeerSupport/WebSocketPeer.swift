// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Python's `websockets` as a server, with permessage-deflate and the subprotocol `chat`.
///
/// | path | what it does |
/// |---|---|
/// | `/echo` | sends every message back |
/// | `/close` | closes with 4001 and the reason `go` |
/// | `/cut` | ends the TCP connection without a Close frame |
package final class WebSocketPeer: Sendable {
  /// Its port.
  package let port: Int

  private let directory: PeerDirectory
  private let process: PeerProcess

  private init(port: Int, directory: PeerDirectory, process: PeerProcess) {
    self.port = port
    self.directory = directory
    self.process = process
  }

  /// Starts it and waits until it accepts connections.
  package static func start() async throws -> WebSocketPeer {
    // The system's own: another Python does not know the system's packages.
    let program = "/usr/bin/python3"
    guard access(program, X_OK) == 0 else {
      throw PeerError("\(program) is not installed: run `make setup`, or install the package python3-websockets")
    }
    return try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      let file = try directory.write(script, to: "server.py")
      let launch = PeerProcess.Launch(
        program: program, arguments: ["-I", file, "\(port)"])
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return WebSocketPeer(port: port, directory: directory, process: process)
    }
  }

  /// Kills it.
  package func stop() { process.stop() }

  private static let script = #"""
    import asyncio, sys, websockets

    async def serve(socket, path=None):
        path = getattr(socket, "path", None) or socket.request.path
        if path == "/close":
            await socket.close(4001, "go")
        elif path == "/cut":
            socket.transport.abort()
        else:
            async for message in socket:
                await socket.send(message)

    # Called with the offer and our list, or, since version 14, with the connection and the offer. Since then a client that
    # offers none would be refused otherwise.
    def choose(first, second):
        offered = first if isinstance(first, list) else second
        return "chat" if "chat" in offered else None

    async def main():
        async with websockets.serve(
            serve, "127.0.0.1", int(sys.argv[1]), subprotocols=["chat"], select_subprotocol=choose, max_size=None
        ):
            await asyncio.Future()

    asyncio.run(main())

    """#
}
