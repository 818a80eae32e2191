# SPDX-License-Identifier: Apache-2.0
"""Ports of 127.0.0.1, and the certificate that the servers there present."""
import base64
import hashlib
import pathlib
import socketserver
import ssl
import subprocess
import threading

from .server import Handler, serve_http2


class Listener(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, serve, context=None):
        self.serve, self.context = serve, context
        super().__init__(("127.0.0.1", 0), None)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def finish_request(self, request, address):
        # A client that fails in the midst of anything is the rule here.
        try:
            request.settimeout(60)
            self.serve(self.context.wrap_socket(request, server_side=True) if self.context else request, address, self)
        except (OSError, ValueError, ssl.SSLError):
            pass


def serve_http(connection, address, server):
    if server.context and connection.selected_alpn_protocol() == "h2":
        serve_http2(connection)
    else:
        Handler(connection, address, server)


def serve_gemini(connection, *_):
    connection.recv(1026)
    connection.sendall(b"20 text/gemini\r\n# Hello\n")
    connection.unwrap()


def serve_echo(connection, *_):
    while data := connection.recv(65536):
        connection.sendall(data)
    if isinstance(connection, ssl.SSLSocket):
        connection.unwrap()


def openssl(*arguments, text=None):
    return subprocess.run(["openssl", *arguments], input=text, capture_output=True, check=True).stdout


class Places:
    """What the command lines of the calls name."""

    def __init__(self, folder):
        chain, key = pathlib.Path(folder, "server.pem"), pathlib.Path(folder, "server.key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=torture", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                "-keyout", str(key), "-out", str(chain))
        public = openssl("pkey", "-pubin", "-outform", "der", text=openssl("x509", "-pubkey", "-noout", "-in", str(chain)))
        self.ca = str(chain)
        self.pin = "sha256/" + base64.b64encode(hashlib.sha256(public).digest()).decode()
        self.other_pin = "sha256/" + base64.b64encode(hashlib.sha256(b"another").digest()).decode()
        self.http = f"http://127.0.0.1:{Listener(serve_http).port}"
        self.https = f"https://localhost:{Listener(serve_http, self.context(chain, key, ['http/1.1'])).port}"
        self.port, self.tls_port = self.http.split(":")[-1], self.https.split(":")[-1]
        self.http2 = f"https://localhost:{Listener(serve_http, self.context(chain, key, ['h2', 'http/1.1'])).port}"
        self.gemini = f"gemini://localhost:{Listener(serve_gemini, self.context(chain, key, [])).port}/"
        self.echo = f"127.0.0.1:{Listener(serve_echo).port}"
        self.tls_echo = f"localhost:{Listener(serve_echo, self.context(chain, key, [])).port}"

    @staticmethod
    def context(chain, key, protocols):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        if protocols:
            context.set_alpn_protocols(protocols)
        return context
