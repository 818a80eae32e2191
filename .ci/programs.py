# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of the first guide and README, Hello and ReadmeExample: `programs.py PROGRAM…`. With a server on this machine
they print what their page says; without one they print a line and end with status 1, and not in a trap."""
import http.server
import os
import pathlib
import subprocess
import sys
import threading

import guides

PRINTED = {"Hello": guides.block(guides.FIRST, "prints", "program"), "ReadmeExample": "swift has 10685 forks; status 200\n"}
ANSWERS = {"/users/octocat": b'{"login": "octocat", "name": "The Octocat"}',
           "/repos/swiftlang/swift": b'{"name": "swift", "forks": 10685}'}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ANSWERS[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def run(program, base):
    """Status and output."""
    # A proxy from the environment would stand between the program and the server.
    own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    ended = subprocess.run([program], env=own | {"GITHUB_API": base}, timeout=120, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(ended.stdout, end="", flush=True)
    return ended.returncode, ended.stdout


def problems(program):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        expected = PRINTED[pathlib.Path(program).name]
        if run(program, base) != (0, expected):
            yield f"{program}: its page says that it prints {expected!r}"
        server.shutdown()
    status, output = run(program, base)
    if status != 1 or output.count("\n") != 1 or not output.startswith("connect/connect_failed: "):
        yield f"{program}: ended with status {status} without its server; one line and 1 were due"
    binary = pathlib.Path(program).read_bytes()
    if b"11CoreMetrics" in binary or b"7Tracing" in binary:
        yield f"{program}: only fetches, and links metrics or tracing"


sys.exit("\n".join(problem for program in sys.argv[1:] for problem in problems(program)) or 0)
