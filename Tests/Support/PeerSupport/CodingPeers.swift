// SPDX-License-Identifier: Apache-2.0

/// A server in Python that codes responses and decodes requests with the libraries of others.
///
/// | target | response |
/// |---|---|
/// | `/coded/NAME` | a text of 12,000 bytes in the coding `zstd`, `br` or `gzip`, whatever was asked for |
/// | `/upload` | JSON: the `coding`, `length` (announced) and decoded `text` of the body |
/// | `/refuse` | 415 for a body with a coding, else like `/upload` |
package enum CodingPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.installed("python")
    return try await Peer.start { directory, ports in
      let file = try directory.write(script, to: "codings.py")
      return PeerProcess.Launch(program: program, arguments: ["-I", file, "\(ports[0])"])
    }
  }

  private static let script = #"""
    import gzip, http.server, json, sys
    import brotli, zstandard

    text = b"All happy families are alike; " * 400
    coders = {"zstd": zstandard.ZstdCompressor().compress, "br": brotli.compress, "gzip": gzip.compress}
    readers = {
        None: bytes, "gzip": gzip.decompress,
        "zstd": lambda body: zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(body)}

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def body(self):
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)

        def reply(self, status, content, **fields):
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self):
            body, coding = self.body(), self.headers.get("Content-Encoding")
            if self.path.startswith("/coded/"):
                name = self.path.removeprefix("/coded/")
                return self.reply(200, coders[name](text), Content_Encoding=name)
            if self.path == "/refuse" and coding:
                return self.reply(415, b"")
            answer = {"coding": coding, "length": self.headers.get("Content-Length"), "text": readers[coding](body).decode()}
            self.reply(200, json.dumps(answer).encode(), Content_Type="application/json")

        do_GET = do_PUT = do_POST

        def log_message(self, *arguments):
            pass

    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

    """#
}

/// nginx with Google's Brotli module. `/file.txt` has 65,536 bytes of text.
package enum BrotliPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["nginx"], package: "nginx-light")
    return try await Peer.start { directory, ports in
      let root = try directory.writeText()
      try directory.write("", to: "temporary/keep")
      let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path temporary/\($0);" }
      let file = try directory.write(
        """
        load_module /usr/lib/nginx/modules/ngx_http_brotli_filter_module.so;
        daemon off;
        master_process off;
        pid nginx.pid;
        events { worker_connections 100; }
        http {
          \(temporary.joined(separator: " "))
          access_log off;
          root \(root);
          default_type text/plain;
          brotli on;
          brotli_types text/plain;
          server { listen 127.0.0.1:\(ports[0]); }
        }

        """, to: "nginx.conf")
      return PeerProcess.Launch(program: program, arguments: ["-e", "stderr", "-p", directory.path, "-c", file])
    }
  }
}

/// Caddy, whose zstd is that of a Go library. `/file.txt` has 65,536 bytes of text.
package enum ZstdPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["caddy"], package: "caddy")
    return try await Peer.start { directory, ports in
      let root = try directory.writeText()
      let file = try directory.write(
        """
        {"admin":{"disabled":true,"config":{"persist":false}},
        "storage":{"module":"file_system","root":"\(directory.file("storage"))"},
        "logging":{"logs":{"default":{"level":"ERROR"}}},
        "apps":{"http":{"servers":{"main":{
          "listen":["127.0.0.1:\(ports[0])"],"automatic_https":{"disable":true},
          "routes":[{"handle":[
            {"handler":"encode","encodings":{"zstd":{}},"match":{"headers":{"Content-Type":["text/*"]}}},
            {"handler":"file_server","root":"\(root)"}]}]}}}}}

        """, to: "caddy.json")
      return PeerProcess.Launch(program: program, arguments: ["run", "--config", file])
    }
  }
}

extension PeerDirectory {
  /// Writes a file of text, and returns its folder.
  fileprivate func writeText() throws -> String {
    try write(String(repeating: "0123456789abcde\n", count: 4_096), to: "www/file.txt")
    return file("www")
  }
}
