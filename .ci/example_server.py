# SPDX-License-Identifier: Apache-2.0
"""Answers what README's example asks of GitHub. Prints its base URL, and ends when its standard output is closed."""
import http.server
import json
import select
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        found = self.path == "/repos/swiftlang/swift"
        content = json.dumps({"name": "swift", "forks": 10685} if found else {"message": "Not Found"}).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(f"http://127.0.0.1:{server.server_port}", flush=True)
# An error condition on the pipe: its reader is gone.
poll = select.poll()
poll.register(sys.stdout, 0)
poll.poll(300_000)
