// SPDX-License-Identifier: Apache-2.0

import Glibc

/// haproxy in front of an origin server: HTTP/2 over TLS outside, HTTP/1.1 in the clear inside.
package enum HAProxyPeer {
  /// - Parameter upstream: port of the origin server behind it.
  package static func start(upstream: Int) async throws -> Peer {
    let program = try PeerProcess.find(["haproxy"], package: "haproxy")
    let certificates = try await PeerCertificates()
    return try await Peer.start(certificates: certificates) { directory, ports in
      try directory.write(try certificates.serverWithKey, to: "server.pem")
      let file = try directory.write(
        """
        global
          maxconn 1000
        defaults
          mode http
          option http-server-close
          timeout connect 60s
          timeout client 60s
          timeout server 60s
        frontend outside
          bind 127.0.0.1:\(ports[0]) ssl crt \(directory.file("server.pem")) alpn h2,http/1.1
          default_backend inside
        backend inside
          server origin 127.0.0.1:\(upstream)

        """, to: "haproxy.cfg")
      return PeerProcess.Launch(program: program, arguments: ["-db", "-f", file])
    }
  }
}

/// lighttpd over TLS, which says goodbye (GOAWAY) to a connection after ``requests`` requests.
///
/// | target | answer |
/// |---|---|
/// | `/page` | a line of text |
package enum LighttpdPeer {
  /// How many requests a connection serves.
  package static let requests = 10

  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["lighttpd"], package: "lighttpd")
    let certificates = try await PeerCertificates()
    return try await Peer.start(certificates: certificates) { directory, ports in
      try directory.write("a line of text\n", to: "www/page")
      let file = try directory.write(
        """
        server.modules = ( "mod_openssl" )
        server.document-root = "\(directory.file("www"))"
        server.bind = "127.0.0.1"
        server.port = \(ports[0])
        server.max-keep-alive-requests = \(requests)
        ssl.engine = "enable"
        ssl.pemfile = "\(certificates.server)"
        ssl.privkey = "\(certificates.serverKey)"

        """, to: "lighttpd.conf")
      return PeerProcess.Launch(program: program, arguments: ["-D", "-f", file])
    }
  }
}

/// Node's HTTP/2 server. It reads no body: `/early/NNN` is answered with that status and `early` at once, with a
/// `content-length`; `/unmeasured/NNN` likewise without one.
package enum NodePeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["node", "nodejs"], package: "nodejs")
    let certificates = try await PeerCertificates()
    return try await Peer.start(certificates: certificates) { directory, ports in
      let file = try directory.write(script, to: "server.js")
      return PeerProcess.Launch(
        program: program, arguments: [file, "\(ports[0])", certificates.server, certificates.serverKey])
    }
  }

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

/// hypercorn, a server in Python, over TLS. Made by `make setup`. `/early/NNN` is answered with that status and `early`
/// before the body is read, everything else with 200 and `fine` after it.
///
/// It ends connections that are idle for a second with close_notify, and waits half a minute for ours.
package enum HypercornPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.installed("hypercorn")
    let certificates = try await PeerCertificates()
    return try await Peer.start(certificates: certificates) { directory, ports in
      let file = try directory.write(application, to: "application.py")
      return PeerProcess.Launch(
        program: program,
        arguments: [
          "--bind", "127.0.0.1:\(ports[0])", "--keep-alive", "1", "--certfile", certificates.server, "--keyfile",
          certificates.serverKey, "\(file):application",
        ])
    }
  }

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

extension Peer {
  /// Waits until hypercorn has ended the connections that are idle now: it ends another one, which is idle from now on,
  /// later.
  package func endIdleConnections() async throws {
    try await certificates.handshake(port: port, "-alpn", "h2", "-ign_eof", "-quiet")
  }
}

/// A server on Python's standard library (HTTP/1.1, in the clear) that tells what it received.
///
/// | target | answer |
/// |---|---|
/// | `/echo` | JSON: `method`, `target`, `headers` (pairs in order), `body_base64`, `body_sha256`, `peer` (its port) |
/// | `/count/NAME` | JSON: `count`, how many requests for this target came so far, this one included |
/// | `/status/NNN` | that status, with a short text |
/// | `/drip/N` | N chunks of `drip\n`, chunked |
package enum PythonPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["python3"], package: "python3")
    return try await Peer.start { directory, ports in
      let file = try directory.write(script, to: "server.py")
      return PeerProcess.Launch(program: program, arguments: ["-I", file, "\(ports[0])"])
    }
  }

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

/// Python's `websockets` as a server, with permessage-deflate and the subprotocol `chat`.
///
/// | path | what it does |
/// |---|---|
/// | `/echo` | sends every message back |
/// | `/close` | closes with 4001 and the reason `go` |
/// | `/cut` | ends the TCP connection without a Close frame |
package enum WebSocketPeer {
  package static func start() async throws -> Peer {
    // The system's own: another Python does not know the system's packages.
    let program = "/usr/bin/python3"
    guard access(program, X_OK) == 0 else {
      throw PeerError("\(program) is not installed: run `make setup`, or install the package python3-websockets")
    }
    return try await Peer.start { directory, ports in
      let file = try directory.write(script, to: "server.py")
      return PeerProcess.Launch(program: program, arguments: ["-I", file, "\(ports[0])"])
    }
  }

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
