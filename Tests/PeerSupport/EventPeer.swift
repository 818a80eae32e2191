// SPDX-License-Identifier: Apache-2.0

/// A server of server-sent events on Python's standard library (HTTP/1.1, in the clear, chunked).
///
/// | request | answer |
/// |---|---|
/// | `GET /orders/N` | three events with the identifiers that follow `Last-Event-ID`, after `retry: 10`; 204 behind N |
/// | `GET /cut/N` | the same, but the connection is cut within the third |
/// | `GET /gzip/NAME` | three events as gzip, each flushed, each after a `/pass/NAME` |
/// | `GET /pass/NAME` | lets the next event of `/gzip/NAME` go; 204 |
/// | `POST /chat/NAME` | `text` chunks as JSON, the words of the body, then `[DONE]` |
/// | `POST /chat-cut/NAME` | the same, ended politely before the last word and without `[DONE]` |
/// | `POST /lines/NAME` | the same as JSON Lines |
/// | `GET /count/NAME` | how often NAME was posted to, as text |
package enum EventPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["python3"], package: "python3")
    return try await Peer.start { directory, ports in
      let file = try directory.write(script, to: "events.py")
      return PeerProcess.Launch(program: program, arguments: ["-I", file, "\(ports[0])"])
    }
  }

  private static let script = #"""
    import collections, http.server, json, sys, threading, zlib

    counts, gates, lock = collections.Counter(), {}, threading.Lock()

    def gate(name):
        with lock:
            return gates.setdefault(name, threading.Semaphore(0))

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def head(self, kind, coding=None):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Transfer-Encoding", "chunked")
            if coding:
                self.send_header("Content-Encoding", coding)
            self.end_headers()

        def chunk(self, data):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def short(self, status, text=b""):
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def orders(self, last, isCut):
            first = int(self.headers.get("Last-Event-ID") or 0) + 1
            if first > last:
                return self.short(204)
            self.head("Text/Event-Stream; charset=utf-8")
            self.chunk(b"retry: 10\n: hello\n\n")
            for number in range(first, first + 3):
                event = "event: order\r\nid: %d\r\ndata: {\"number\": %d}\r\n\r\n" % (number, number)
                if isCut and number == first + 2:
                    self.wfile.write(b"ff\r\n" + event.encode()[:20])
                    self.close_connection = True
                    return
                self.chunk(event.encode())
            self.chunk(b"")

        def gzip(self, name):
            self.head("text/event-stream", "gzip")
            coder = zlib.compressobj(wbits=31)
            for number in range(3):
                gate(name).acquire()
                self.chunk(coder.compress(b"data: %d\n\n" % number) + coder.flush(zlib.Z_SYNC_FLUSH))
            self.chunk(coder.flush())
            self.chunk(b"")

        def do_GET(self):
            kind, name = self.path.strip("/").split("/")
            if kind in ("orders", "cut"):
                self.orders(int(name), kind == "cut")
            elif kind == "gzip":
                self.gzip(name)
            elif kind == "pass":
                gate(name).release()
                self.short(204)
            elif kind == "count":
                self.short(200, b"%d" % counts[name])
            else:
                self.short(404)

        def do_POST(self):
            kind, name = self.path.strip("/").split("/")
            words = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode().split()
            counts[name] += 1
            if kind == "chat-cut":
                words = words[:-1]
            self.head("application/x-ndjson" if kind == "lines" else "text/event-stream")
            for word in words:
                text = json.dumps({"text": word})
                self.chunk((text + "\n" if kind == "lines" else "data: %s\n\n" % text).encode())
            if kind == "chat":
                self.chunk(b"data: [DONE]\n\n")
            self.chunk(b"")

        def log_message(self, *arguments):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 1024

    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()

    """#
}
