# SPDX-License-Identifier: Apache-2.0
"""Reads the bodies of uploads and answers 200 when it has seen their last byte.

nginx cannot stand in for it: what discards a body there answers before it has read it. Bodies are thrown away inside
the kernel (MSG_TRUNC), so that the client is what is measured. Prints its port; runs until it is ended.
"""
from __future__ import annotations

import re
import socket
import socketserver

HEAD_END = b"\r\n\r\n"
PIECE = 4 << 20


class Upload(socketserver.BaseRequestHandler):
    request: socket.socket

    def setup(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.space = bytearray(PIECE)

    def handle(self) -> None:
        while head := self.take_through(HEAD_END, 65536):
            self.read_body(head.lower())
            self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def read_body(self, head: bytes) -> None:
        if b"\r\nexpect: 100-continue" in head:
            self.request.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if b"\r\ntransfer-encoding: chunked" in head:
            while size := int(self.take_through(b"\r\n", 64).split(b";")[0], 16):
                self.discard(size + len(b"\r\n"))
            self.discard(len(b"\r\n"))
        elif length := re.search(rb"\r\ncontent-length: *(\d+)", head):
            self.discard(int(length[1]))

    def take_through(self, end: bytes, limit: int) -> bytes:
        """The bytes up to and including `end`, and none after it; none when the connection is closed in their place."""
        while seen := self.request.recv(limit, socket.MSG_PEEK):
            found = seen.find(end)
            if found >= 0:
                return self.request.recv(found + len(end))
            if len(seen) == limit:
                raise ValueError(f"{limit} bytes without {end!r}")
            # What was only looked at would be returned again at once: wait for one byte more than that.
            if len(self.request.recv(len(seen) + 1, socket.MSG_PEEK | socket.MSG_WAITALL)) == len(seen):
                raise ConnectionError(f"closed before {end!r}")
        return b""

    def discard(self, count: int) -> None:
        while count > 0:
            taken = self.request.recv_into(self.space, min(count, PIECE), socket.MSG_TRUNC)
            if taken == 0:
                raise ConnectionError("closed within a body")
            count -= taken


class Sink(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away says itself that it failed."""


with Sink(("127.0.0.1", 0), Upload) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
