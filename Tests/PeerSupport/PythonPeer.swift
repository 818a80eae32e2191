// SPDX-License-Identifier: Apache-2.0

/// A server on Python's standard library (HTTP/1.1, in the clear) that tells what it received.
///
/// | target | answer |
/// |---|---|
/// | `/echo` | JSON: `method`, `target`, `headers` ([[name, value]…] in order), `body_base64`, `body_sha256`, `peer` (client's port) |
/// | `/count/NAME` | JSON: `count`, how many requests for this target came so far, this one included |
/// | `/status/NNN` | that status, with a short text |
/// | `/drip/N` | N chunks of `drip\n`, chunked |
package final class PythonPeer: Sendable {
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
  package static func start() async throws -> PythonPeer {
    let program = try PeerProcess.find(["python3"], package: "python3")
    return try await attempting {
      let directory = try PeerDirectory()
      let port = try Loopback.freePort()
      let file = try directory.write(script, to: "server.py")
      let launch = PeerProcess.Launch(program: program, arguments: ["-I", file, "\(port)"])
      let process = try await PeerProcess.start(launch, in: directory, ports: [port])
      return PythonPeer(port: port, directory: directory, process: process)
    }
  }

  /// Kills it.
  package func stop() { process.stop() }

  private static let script = #"""
    import base64, collections, hashlib, http.server, json, sys, threading

    counts, lock = collections.Counter(), threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def body(self):
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                while self.rfile.readline().strip():
                    pass
                return b"".join(parts)
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def reply(self, status, content, kind="application/json"):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if status != 204 and status != 304:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD" and status not in (204, 304):
                self.wfile.write(content)

        def answer(self):
            body = self.body()
            parts = self.path.split("?")[0].strip("/").split("/")
            if parts[0] == "echo":
                self.reply(200, json.dumps({
                    "method": self.command, "target": self.path, "headers": self.headers.items(),
                    "body_base64": base64.b64encode(body).decode(), "body_sha256": hashlib.sha256(body).hexdigest(),
                    "peer": self.client_address[1]}).encode())
            elif parts[0] == "count":
                with lock:
                    counts[self.path] += 1
                    count = counts[self.path]
                self.reply(200, json.dumps({"count": count}).encode())
            elif parts[0] == "status":
                self.reply(int(parts[1]), b"status " + parts[1].encode(), "text/plain")
            elif parts[0] == "drip":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for _ in range(int(parts[1])):
                    self.wfile.write(b"5\r\ndrip\n\r\n")
                self.wfile.write(b"0\r\n\r\n")
            else:
                self.reply(404, b"{}")

        def do_GET(self):
            self.answer()

        do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

        def log_message(self, *arguments):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 1024

    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

    """#
}
