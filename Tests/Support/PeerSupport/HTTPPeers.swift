// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// Python's `websockets` as a server, with permessage-deflate and the subprotocol `chat`.
///
/// | path | action |
/// |---|---|
/// | `/echo` | sends every message back |
/// | `/close` | closes with 4001 and the reason `go` |
/// | `/cut` | closes the TCP connection without a Close frame |
package enum WebSocketPeer {
  package static func start() async throws -> Peer {
    // The system's Python: only it finds the packages that the system has installed.
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

    # Called with the offer and our list, or, since version 14, with the connection and the offer. Since then a client
    # that offers none would be refused otherwise.
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

extension PeerDirectory {
  /// Writes the files that the file servers of ``PeerSite`` serve, and returns the folder's path.
  func writeSite() throws -> String {
    let period = Data(0..<251)
    var content = Data()
    while content.count < PeerSite.fileBytes { content += period }
    try write(content.prefix(PeerSite.fileBytes), to: "www/file")
    try write("fine", to: "www/trailers")
    try write(PeerSite.page, to: "www/page")
    return file("www")
  }
}

/// The nginx server. Its third port serves plain HTTP.
enum NginxSite {
  static func start(_ certificates: PeerCertificates, origin: Int) async throws -> Peer {
    let program = try PeerProcess.find(["nginx"], package: "nginx-light")
    return try await Peer.start(ports: 3, certificates: certificates) { directory, ports in
      let root = try directory.writeSite()
      try directory.write("", to: "temporary/keep")
      let early = [200, 401, 413].map { "location = /early/\($0) { return \($0) early; }" }
      try directory.write(
        """
        \(early.joined(separator: "\n"))
        location = /mirror { proxy_pass http://127.0.0.1:\(origin); proxy_http_version 1.1; }
        location = /trailers { add_trailer X-Sum none; }

        """, to: "site.conf")
      let file = try directory.write(configuration(certificates, ports, root), to: "nginx.conf")
      return PeerProcess.Launch(program: program, arguments: ["-e", "stderr", "-p", directory.path, "-c", file])
    }
  }

  private static func configuration(_ certificates: PeerCertificates, _ ports: [Int], _ root: String) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path temporary/\($0);" }
    return """
      daemon off;
      master_process off;
      pid nginx.pid;
      events { worker_connections 1000; }
      http {
        \(temporary.joined(separator: " "))
        access_log off;
        root \(root);
        default_type text/plain;
        client_max_body_size 64m;
        keepalive_requests \(PeerSite.requestsPerConnection);
        ssl_certificate \(certificates.server);
        ssl_certificate_key \(certificates.serverKey);
        server { listen 127.0.0.1:\(ports[0]) ssl http2; include site.conf; }
        server { listen 127.0.0.1:\(ports[1]) ssl http2; keepalive_timeout 1s; include site.conf; }
        server { listen 127.0.0.1:\(ports[2]); include site.conf; }
      }

      """
  }
}

/// The lighttpd server.
enum LighttpdSite {
  static func start(_ certificates: PeerCertificates, origin: Int) async throws -> Peer {
    let program = try PeerProcess.find(["lighttpd"], package: "lighttpd")
    return try await Peer.start(ports: 2, certificates: certificates) { directory, ports in
      let root = try directory.writeSite()
      let file = try directory.write(
        """
        server.modules = ( "mod_openssl", "mod_proxy" )
        server.document-root = "\(root)"
        server.bind = "127.0.0.1"
        server.port = \(ports[0])
        server.max-keep-alive-requests = \(PeerSite.requestsPerConnection)
        mimetype.assign = ( "" => "text/plain" )
        ssl.engine = "enable"
        ssl.pemfile = "\(certificates.server)"
        ssl.privkey = "\(certificates.serverKey)"
        $SERVER["socket"] == "127.0.0.1:\(ports[1])" {
          ssl.engine = "enable"
          server.max-keep-alive-idle = 1
        }
        $HTTP["url"] == "/mirror" {
          proxy.server = ( "" => ( ( "host" => "127.0.0.1", "port" => \(origin) ) ) )
        }
        $HTTP["url"] == "/early/413" { server.max-request-size = 1 }

        """, to: "lighttpd.conf")
      return PeerProcess.Launch(program: program, arguments: ["-D", "-f", file])
    }
  }
}

/// The Apache HTTP server.
enum ApacheSite {
  static func start(_ certificates: PeerCertificates, origin: Int) async throws -> Peer {
    let program = try PeerProcess.find(["apache2"], package: "apache2-bin")
    return try await Peer.start(ports: 2, certificates: certificates) { directory, ports in
      let root = try directory.writeSite()
      let file = try directory.write(
        configuration(ports, directory, root, origin: origin), to: "apache.conf")
      try directory.write(try certificates.serverWithKey, to: "server.pem")
      directory.give(to: PeerProcess.unprivilegedUser)
      return PeerProcess.Launch(program: program, arguments: ["-X", "-f", file], dropsRoot: true)
    }
  }

  private static func configuration(
    _ ports: [Int], _ directory: PeerDirectory, _ root: String, origin: Int
  ) -> String {
    let modules = ["mpm_event", "authz_core", "ssl", "http2", "alias", "proxy", "proxy_http"].map {
      "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so"
    }
    return """
      ServerRoot \(directory.path)
      ServerName localhost
      DefaultRuntimeDir \(directory.path)
      PidFile \(directory.file("apache.pid"))
      ErrorLog \(directory.file("error.log"))
      Mutex pthread
      \(modules.joined(separator: "\n"))
      StartServers 1
      ServerLimit 1
      ThreadsPerChild 25
      MaxRequestWorkers 25
      Protocols h2 http/1.1
      SSLEngine on
      SSLCertificateFile \(directory.file("server.pem"))
      DocumentRoot \(root)
      MaxKeepAliveRequests \(PeerSite.requestsPerConnection)
      Redirect 401 /early/401
      Redirect 413 /early/413
      ProxyPass /mirror http://127.0.0.1:\(origin)/mirror
      ProxyPass /trailers http://127.0.0.1:\(origin)/trailers
      Listen 127.0.0.1:\(ports[0])
      Listen 127.0.0.1:\(ports[1])
      <VirtualHost 127.0.0.1:\(ports[1])>
        KeepAliveTimeout 1
      </VirtualHost>

      """
  }
}

/// The Caddy server.
enum CaddySite {
  static func start(_ certificates: PeerCertificates, origin: Int) async throws -> Peer {
    let program = try PeerProcess.find(["caddy"], package: "caddy")
    return try await Peer.start(ports: 2, certificates: certificates) { directory, ports in
      let root = try directory.writeSite()
      let file = try directory.write(
        configuration(certificates, ports, directory, root, origin: origin), to: "caddy.json")
      return PeerProcess.Launch(program: program, arguments: ["run", "--config", file])
    }
  }

  private static func configuration(
    _ certificates: PeerCertificates, _ ports: [Int], _ directory: PeerDirectory, _ root: String, origin: Int
  ) -> String {
    func route(_ paths: [String], _ handler: String) -> String {
      let match = paths.map { "\"\($0)\"" }.joined(separator: ",")
      return #"{"match":[{"path":[\#(match)]}],"handle":[{\#(handler)}]}"#
    }
    let early = [200, 401, 413].map {
      route(["/early/\($0)"], #""handler":"static_response","status_code":\#($0),"body":"early""#)
    }
    let routes =
      early + [
        route(
          ["/mirror", "/trailers"], #""handler":"reverse_proxy","upstreams":[{"dial":"127.0.0.1:\#(origin)"}]"#),
        route(["*"], #""handler":"file_server","root":"\#(root)""#),
      ]
    func server(_ port: Int, _ extra: String = "") -> String {
      """
      {"listen":["127.0.0.1:\(port)"],\(extra)"automatic_https":{"disable":true},"tls_connection_policies":[{}],
      "routes":[\(routes.joined(separator: ","))]}
      """
    }
    return """
      {"admin":{"disabled":true,"config":{"persist":false}},
      "storage":{"module":"file_system","root":"\(directory.file("storage"))"},
      "logging":{"logs":{"default":{"level":"ERROR"}}},
      "apps":{
        "tls":{"certificates":{"load_files":[
          {"certificate":"\(certificates.server)","key":"\(certificates.serverKey)"}]}},
        "http":{"servers":{
          "main":\(server(ports[0])),
          "idle":\(server(ports[1], #""idle_timeout":"1s","#))}}}}

      """
  }
}

/// The server nghttpd of nghttp2, which speaks HTTP/2 only.
enum NghttpdSite {
  /// - Parameter options: `--echo-upload` for `/mirror`, or `--early-response`, which cannot be used with `--trailer`.
  static func start(_ certificates: PeerCertificates, _ options: String...) async throws -> Peer {
    let program = try PeerProcess.find(["nghttpd"], package: "nghttp2-server")
    return try await Peer.start(certificates: certificates) { directory, ports in
      let root = try directory.writeSite()
      try directory.write("early", to: "www/early/200")
      return PeerProcess.Launch(
        program: program,
        arguments: [
          "-a", "127.0.0.1", "-d", root,
        ] + options + ["\(ports[0])", certificates.serverKey, certificates.server])
    }
  }
}

/// nghttpd, which sends responses in the order of their priorities (RFC 9218) and ignores those of RFC 7540.
package enum PriorityPeer {
  /// The size of the file `/part`: less than the window of a stream, and more than is read in a turn of the loop.
  package static let partBytes = 900 << 10

  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["nghttpd"], package: "nghttp2-server")
    let certificates = try await PeerCertificates()
    return try await Peer.start(certificates: certificates) { directory, ports in
      try directory.write(Data(repeating: 0x61, count: partBytes), to: "www/part")
      return PeerProcess.Launch(
        program: program,
        arguments: [
          "-a", "127.0.0.1", "-d", directory.file("www"), "--no-rfc7540-pri", "\(ports[0])", certificates.serverKey,
          certificates.server,
        ])
    }
  }
}

/// A server on Node. Its third port serves plain HTTP, for proxies that forward requests to it.
enum NodeSite {
  static func start(_ certificates: PeerCertificates) async throws -> Peer {
    let program = try PeerProcess.find(["node", "nodejs"], package: "nodejs")
    return try await Peer.start(ports: 3, certificates: certificates) { directory, ports in
      let file = try directory.write(script, to: "server.js")
      let arguments = [certificates.server, certificates.serverKey] + ports.map(String.init)
      return PeerProcess.Launch(program: program, arguments: [file] + arguments)
    }
  }

  private static let script = #"""
    const fs = require("fs"), http = require("http"), http2 = require("http2");
    const [cert, key, main, idle, clear] = process.argv.slice(2);

    function answer(request, response) {
      request.on("error", () => {});
      response.on("error", () => {});
      const [, kind, status] = request.url.split("/");
      if (kind === "early") {
        response.writeHead(Number(status), { "content-length": 5 });
        response.end("early");
      } else if (kind === "mirror") {
        response.writeHead(200);
        request.pipe(response);
      } else if (kind === "trailers") {
        request.resume();
        request.on("end", () => {
          response.writeHead(200, { trailer: "x-sum" });
          response.write("fine");
          response.addTrailers({ "x-sum": request.trailers["x-sum"] || "none" });
          response.end();
        });
      } else if (kind === "file") {
        const period = Buffer.from(Array.from({ length: 251 }, (_, index) => index));
        response.end(Buffer.alloc(3 << 20, period));
      } else {
        response.end("a line of text\n");
      }
    }

    const options = { cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true };
    for (const port of [main, idle]) {
      const server = http2.createSecureServer(options, answer);
      server.on("sessionError", () => {});
      server.keepAliveTimeout = port === idle ? 1000 : 600000;
      if (port === idle) server.on("session", (session) => session.setTimeout(1000, () => session.close()));
      server.listen(Number(port), "127.0.0.1");
    }
    const server = http.createServer(answer);
    server.keepAliveTimeout = 600000;
    server.listen(Number(clear), "127.0.0.1");

    """#
}

/// hypercorn, a server written in Python. `make setup` installs it.
///
/// It closes idle connections with a close_notify alert, and waits 30 seconds for the client's alert.
enum HypercornSite {
  static func start(_ certificates: PeerCertificates, idle: Int) async throws -> Peer {
    let program = try PeerProcess.installed("hypercorn")
    return try await Peer.start(certificates: certificates) { directory, ports in
      let application = try directory.write(PythonApplication.text, to: "application.py")
      let configuration = try directory.write(
        """
        keep_alive_timeout = \(idle)
        keep_alive_max_requests = \(PeerSite.requestsPerConnection)

        """, to: "hypercorn.toml")
      return PeerProcess.Launch(
        program: program,
        arguments: [
          "--config", configuration, "--bind", "127.0.0.1:\(ports[0])", "--certfile", certificates.server, "--keyfile",
          certificates.serverKey, "\(application):application",
        ])
    }
  }
}

/// granian, a server written in Rust for Python applications. `make setup` installs it.
enum GranianSite {
  static func start(_ certificates: PeerCertificates, idle: Int) async throws -> Peer {
    let program = try PeerProcess.installed("granian")
    return try await Peer.start(certificates: certificates) { directory, ports in
      try directory.write(PythonApplication.text, to: "application.py")
      return PeerProcess.Launch(
        program: program,
        arguments: [
          "--interface", "asgi", "--host", "127.0.0.1", "--port", "\(ports[0])", "--no-ws", "--working-dir",
          directory.path, "--http1-header-read-timeout", "\(idle * 1000)", "--ssl-certificate", certificates.server,
          "--ssl-keyfile", certificates.serverKey, "application:application",
        ])
    }
  }
}

private enum PythonApplication {
  static let text = #"""
    async def lifespan(receive, send):
        while True:
            event = (await receive())["type"]
            await send({"type": event + ".complete"})
            if event == "lifespan.shutdown":
                return

    async def answer(send, status, body, trailers=()):
        headers = [] if trailers else [(b"content-length", str(len(body)).encode())]
        start = {"type": "http.response.start", "status": status, "headers": headers}
        await send(start | {"trailers": True} if trailers else start)
        await send({"type": "http.response.body", "body": body})
        if trailers:
            await send({"type": "http.response.trailers", "headers": trailers, "more_trailers": False})

    async def mirror(receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        more = True
        while more:
            event = await receive()
            more = event.get("more_body", False)
            await send({"type": "http.response.body", "body": event.get("body", b""), "more_body": more})

    async def application(scope, receive, send):
        if scope["type"] == "lifespan":
            return await lifespan(receive, send)
        if scope["type"] != "http":
            return
        _, kind, *rest = scope["path"].split("/")
        if kind == "early":
            return await answer(send, int(rest[0]), b"early")
        if kind == "mirror":
            return await mirror(receive, send)
        while (await receive()).get("more_body"):
            pass
        if kind == "trailers":
            return await answer(send, 200, b"fine", [(b"x-sum", b"none")])
        if kind == "file":
            return await answer(send, 200, (bytes(range(251)) * 12533)[:3 << 20])
        await answer(send, 200, b"a line of text\n")

    """#
}

/// haproxy as a reverse proxy: it accepts HTTP/2 and HTTP/1.1 over TLS, and speaks plain HTTP/1.1 to the origin server.
enum HAProxySite {
  /// - Parameter files: the port of a file server.
  static func start(_ certificates: PeerCertificates, origin: Int, files: Int) async throws -> Peer {
    let program = try PeerProcess.find(["haproxy"], package: "haproxy")
    return try await Peer.start(ports: 2, certificates: certificates) { directory, ports in
      try directory.write(try certificates.serverWithKey, to: "server.pem")
      let frontends = zip(["main", "idle"], ports).map { name, port in
        """
        frontend \(name)
          bind 127.0.0.1:\(port) ssl crt \(directory.file("server.pem")) alpn h2,http/1.1
          \(name == "idle" ? "timeout client 1s" : "")
          http-request return status 401 content-type text/plain string early if { path /early/401 }
          http-request return status 413 content-type text/plain string early if { path /early/413 }
          use_backend files if { path /file }
          default_backend origin
        """
      }
      let file = try directory.write(
        """
        global
          maxconn 1000
        defaults
          mode http
          timeout connect 60s
          timeout client 60s
          timeout server 60s
        \(frontends.joined(separator: "\n"))
        backend origin
          server origin 127.0.0.1:\(origin)
        backend files
          server files 127.0.0.1:\(files)

        """, to: "haproxy.cfg")
      return PeerProcess.Launch(program: program, arguments: ["-db", "-f", file])
    }
  }
}
