// SPDX-License-Identifier: Apache-2.0

/// A server built with Python's standard library (plain HTTP/1.1) that reports the requests it received.
///
/// | target | response |
/// |---|---|
/// | `/echo` | JSON: `method`, `target`, `headers` (pairs in order), `body_base64`, `body_sha256`, `peer` (its port) |
/// | `/count/NAME` | JSON: `count`, the number of requests for this target so far, including this one |
/// | `/status/NNN` | the status NNN, with a short text |
/// | `/drip/N` | N chunks of `drip\n` in chunked coding |
/// | `/cookies/…` | JSON: `cookies`, the request's cookies as `http.cookies` reads them; counts `visits` in a cookie |
/// | `/form` | JSON: the parts of a multipart body as `email` reads them: `name`, `filename`, `type`, `body_base64` |
/// | `/mixed/N` | `multipart/mixed` with N parts, written by `email`; part I has I lines `part I`, and a file name |
/// | `/orders/N` | `retry: 10`, then three events whose ids follow `Last-Event-ID`; 204 after N |
/// | `/cut/N` | like `/orders/N`, but the connection is cut off within the third event |
/// | `/gzip/NAME` | three events in gzip, each sent and flushed after a request for `/pass/NAME`, which returns 204 |
/// | `/chat/NAME` | the words of the body as events `{"text": WORD}`, then `[DONE]` |
/// | `/half/NAME` | like `/chat/NAME`, without the last word and `[DONE]` |
/// | `/lines/NAME` | the words of the body as JSON Lines |
/// | `/asked/NAME` | text: the number of requests for NAME under `/chat`, `/half` and `/lines` |
package enum PythonPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["python3"], package: "python3")
    return try await Peer.start { directory, ports in
      let file = try directory.write(script, to: "server.py")
      return PeerProcess.Launch(program: program, arguments: ["-I", file, "\(ports[0])"])
    }
  }

  private static let script = #"""
    import base64, collections, email, email.message, email.mime.multipart, email.mime.text, email.policy
    import hashlib, http.cookies, http.server, json, sys, threading, zlib

    counts, gates, lock = collections.Counter(), {}, threading.Lock()

    def gate(name):
        with lock:
            return gates.setdefault(name, threading.Semaphore(0))

    def part(message):
        fields = {name.lower(): value.encode("ascii", "surrogateescape").decode() for name, value in message.raw_items()}
        disposition = email.message.Message()
        disposition["content-disposition"] = fields["content-disposition"]
        return {
            "name": disposition.get_param("name", header="content-disposition"),
            "filename": disposition.get_param("filename", header="content-disposition"), "type": fields.get("content-type"),
            "body_base64": base64.b64encode(message.get_payload(decode=True)).decode()}

    def mixed(count):
        message = email.mime.multipart.MIMEMultipart("mixed")
        for number in range(count):
            text = email.mime.text.MIMEText(f"part {number}\n" * number, _charset="us-ascii")
            text.add_header("Content-Disposition", "attachment", filename=f'a "{number}"\\.txt')
            message.attach(text)
        raw = message.as_bytes(policy=email.policy.compat32.clone(linesep="\r\n"))
        return message["Content-Type"], raw.partition(b"\r\n\r\n")[2]

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

        def reply(self, status, content, kind="application/json", cookies=()):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            for cookie in cookies:
                self.send_header("Set-Cookie", cookie)
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
            elif parts[0] == "form":
                head = b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n"
                message = email.message_from_bytes(head + body)
                self.reply(200, json.dumps([part(found) for found in message.get_payload()]).encode())
            elif parts[0] == "mixed":
                kind, content = mixed(int(parts[1]))
                self.reply(200, content, kind)
            elif parts[0] == "count":
                with lock:
                    counts[self.path] += 1
                    count = counts[self.path]
                self.reply(200, json.dumps({"count": count}).encode())
            elif parts[0] == "cookies":
                read = http.cookies.SimpleCookie(self.headers.get("Cookie", ""))
                made = http.cookies.SimpleCookie()
                made["visits"] = int(read["visits"].value if "visits" in read else 0) + 1
                made["visits"].update({"path": "/cookies", "max-age": 60, "httponly": True})
                made["place"] = self.path
                values = {name: morsel.value for name, morsel in read.items()}
                lines = [morsel.OutputString() for morsel in made.values()]
                self.reply(200, json.dumps({"cookies": values}).encode(), cookies=lines)
            elif parts[0] == "status":
                self.reply(int(parts[1]), b"status " + parts[1].encode(), "text/plain")
            elif parts[0] == "drip":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for _ in range(int(parts[1])):
                    self.wfile.write(b"5\r\ndrip\n\r\n")
                self.wfile.write(b"0\r\n\r\n")
            elif parts[0] in ("orders", "cut"):
                self.orders(int(parts[1]), parts[0] == "cut")
            elif parts[0] == "gzip":
                self.gzip(parts[1])
            elif parts[0] == "pass":
                gate(parts[1]).release()
                self.reply(204, b"")
            elif parts[0] in ("chat", "half", "lines"):
                self.words(parts[0], parts[1], body.decode().split())
            elif parts[0] == "asked":
                self.reply(200, b"%d" % counts[parts[1]], "text/plain")
            else:
                self.reply(404, b"{}")

        def start(self, kind, *fields):
            self.send_response(200)
            for field in ("Content-Type", kind), ("Transfer-Encoding", "chunked"), *fields:
                self.send_header(*field)
            self.end_headers()

        def chunk(self, data):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

        def orders(self, last, cut):
            first = int(self.headers.get("Last-Event-ID") or 0) + 1
            if first > last:
                return self.reply(204, b"")
            self.start("Text/Event-Stream; charset=utf-8")
            self.chunk(b"retry: 10\n: hello\n\n")
            for number in range(first, first + 3):
                event = b"event: order\r\nid: %d\r\ndata: {\"number\": %d}\r\n\r\n" % (number, number)
                if cut and number == first + 2:
                    self.wfile.write(b"ff\r\n" + event[:20])
                    self.close_connection = True
                    return
                self.chunk(event)
            self.chunk(b"")

        def gzip(self, name):
            self.start("text/event-stream", ("Content-Encoding", "gzip"))
            coder = zlib.compressobj(wbits=31)
            for number in range(3):
                gate(name).acquire()
                self.chunk(coder.compress(b"data: %d\n\n" % number) + coder.flush(zlib.Z_SYNC_FLUSH))
            self.chunk(coder.flush())
            self.chunk(b"")

        def words(self, kind, name, words):
            with lock:
                counts[name] += 1
            self.start("application/x-ndjson" if kind == "lines" else "text/event-stream")
            for word in words[:-1] if kind == "half" else words:
                text = json.dumps({"text": word})
                self.chunk((text + "\n" if kind == "lines" else "data: %s\n\n" % text).encode())
            if kind == "chat":
                self.chunk(b"data: [DONE]\n\n")
            self.chunk(b"")

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

/// A DNS over HTTPS server built with Python's standard library. It serves plain HTTP at any path. It responds with 400
/// to a query that is not valid by RFC 8484 and RFC 8467.
///
/// | name | response |
/// |---|---|
/// | `far.test` | `127.0.0.1` for 30 s, and no IPv6 address |
/// | `alias.test` | an alias of `far.test` for 20 s, in a compressed name |
/// | `both.test` | `::1` and `127.0.0.1`, for 30 s; an `Age` of 10 |
/// | `broken.test` | SERVFAIL |
/// | any other | NXDOMAIN, for 40 s |
package enum PythonDoHPeer {
  package static func start() async throws -> Peer {
    let program = try PeerProcess.find(["python3"], package: "python3")
    return try await Peer.start { directory, ports in
      let file = try directory.write(script, to: "doh.py")
      return PeerProcess.Launch(program: program, arguments: ["-I", file, "\(ports[0])"])
    }
  }

  private static let script = #"""
    import http.server, ipaddress, struct, sys

    A, CNAME, SOA, AAAA, OPT = 1, 5, 6, 28, 41
    ZONE = {
        ("far.test", A): ["127.0.0.1"], ("both.test", A): ["127.0.0.1"], ("both.test", AAAA): ["::1"],
    }

    def encoded(name):
        return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"

    def record(owner, kind, ttl, data):
        return owner + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data

    def read(query):
        """The name and type of a proper query."""
        ident, flags, questions, answers, zones, others = struct.unpack_from(">6H", query)
        if (ident, flags, questions, answers, zones, others) != (0, 0x0100, 1, 0, 0, 1) or len(query) % 128:
            raise ValueError("header")
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind, group = struct.unpack_from(">HH", query, at + 1)
        root, opt, size, code, length = struct.unpack_from(">BHHIH", query, at + 5)
        option, padding = struct.unpack_from(">HH", query, at + 16)
        if (group, root, opt, size, code, option) != (1, 0, OPT, 1232, 0, 12) or at + 16 + length != len(query):
            raise ValueError("question or options")
        if padding != length - 4 or any(query[at + 20:]):
            raise ValueError("padding")
        return ".".join(labels), kind, query[12:at + 5]

    def answer(name, kind, question):
        here = b"\xc0\x0c"
        soa = record(encoded("test"), SOA, 50, encoded("ns.test") + encoded("root.test") + struct.pack(">5I", 1, 2, 3, 4, 40))
        records, code, owner = [], 0, here
        if name == "alias.test":
            records.append(record(here, CNAME, 20, b"\x03far" + struct.pack(">H", 0xc000 + 12 + 6)))
            name, owner = "far.test", struct.pack(">H", 0xc000 + 12 + len(question) + 12)
        if name == "broken.test":
            code = 2
        elif (name, A) not in ZONE:
            code = 3
        for address in ZONE.get((name, kind), []):
            records.append(record(owner, kind, 30, ipaddress.ip_address(address).packed))
        zones = [] if code == 2 or ZONE.get((name, kind)) else [soa]
        opt = b"\0" + struct.pack(">HHIH", OPT, 1232, 0, 0)
        head = struct.pack(">6H", 0, 0x8180 | code, 1, len(records), len(zones), 1)
        return head + question + b"".join(records + zones) + opt

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self, status, kind, content, age=None):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            if age:
                self.send_header("Age", age)
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind = "application/dns-message"
            try:
                if self.headers.get("Content-Type") != kind or kind not in (self.headers.get("Accept") or ""):
                    raise ValueError("type")
                name, wanted, question = read(body)
            except Exception as error:
                return self.reply(400, "text/plain", repr(error).encode())
            print(name, wanted, flush=True)
            self.reply(200, kind, answer(name, wanted, question), "10" if name == "both.test" else None)

        def log_message(self, *arguments):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 256

    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
    """#
}
