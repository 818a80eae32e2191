# SPDX-License-Identifier: Apache-2.0
"""The server's side of connections: bytes and TLS, with nothing that waits."""
from __future__ import annotations

import socket
import ssl
import struct
from typing import Callable

from .case import Answer
from .h1_reader import CLEAN, KEPT, RESET
from .h2_draft import (ACK, DATA, END_STREAM, HEADERS, PADDED, PING, PRIORITIZED, SETTINGS, connection_frame)
from hpack import Decoder, HPACKError

Answering = Callable[[bytes, int], Answer]
"""The answer to a path, on a stream."""


class Connection:
    def __init__(self, channel: socket.socket, context: ssl.SSLContext | None, http2: bool, answering: Answering):
        channel.setblocking(False)
        channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.channel = channel
        self.http2 = http2
        self.ended = False
        """Whether our direction is closed, or is once what waits has been written."""
        self.closed = False
        self._waiting = bytearray()
        self._shut = self._resets = False
        self._answering = answering
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True) if context else None
        self._in_handshake = self._tls is not None
        self._protocol = HTTP2(self) if http2 else HTTP1(self)

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def receive(self) -> None:
        """Takes what is there to be read."""
        try:
            data = self.channel.recv(65_536)
        except BlockingIOError:
            return
        except OSError:
            return self.close()
        if not data:
            return self.close()
        if not self._tls:
            return self._protocol.receive(data)
        self._incoming.write(data)
        try:
            self._receive_encrypted()
        except ssl.SSLError:
            # The client has broken off, or says what a client of TLS does not say.
            self._flush_tls()
            self.close()

    def _receive_encrypted(self) -> None:
        try:
            if self._in_handshake:
                self._tls.do_handshake()
                self._in_handshake = False
                if self.http2 and self._tls.selected_alpn_protocol() != "h2":
                    # The client was told HTTP_1_1_REQUIRED.
                    self.http2, self._protocol = False, HTTP1(self)
                self._flush_tls()
            while not self.closed and (data := self._tls.read(65_536)):
                self._protocol.receive(data)
        except ssl.SSLWantReadError:
            self._flush_tls()

    def _flush_tls(self) -> None:
        self._waiting += self._outgoing.read()
        self.write()

    def send(self, data: bytes) -> None:
        if self._tls:
            if data:
                self._tls.write(data)
            self._flush_tls()
        else:
            self._waiting += data
            self.write()

    def give(self, answer: Answer) -> None:
        if self.ended:
            # A server that has closed a connection answers nothing more on it.
            return self.abort()
        for segment in answer.segments:
            self.send(segment)
        if answer.ending != KEPT:
            self.end(answer.ending)

    def ask(self, path: bytes, stream: int) -> None:
        self.give(self._answering(path, stream))

    def end(self, ending: str) -> None:
        self.ended, self._resets = True, ending == RESET
        if self._tls and ending == CLEAN:
            try:
                self._tls.unwrap()
            except ssl.SSLError:
                pass
            self._flush_tls()
        self.write()

    def write(self) -> None:
        """Writes what waits, as far as the client takes it."""
        try:
            while self._waiting and not self.closed:
                del self._waiting[:self.channel.send(self._waiting)]
            if self.ended and self._resets and not self._waiting:
                self.abort()
            elif self.ended and not self._shut and not self.closed and not self._waiting:
                self._shut = True
                self.channel.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError:
            self.close()

    def abort(self) -> None:
        self.channel.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        """The lane closes the socket, once its selector has let go of it."""
        self.closed = True
        self._waiting.clear()


class HTTP1:
    def __init__(self, connection: Connection):
        self._connection = connection
        self._data = b""

    def receive(self, data: bytes) -> None:
        self._data += data
        while not self._connection.closed:
            head, separator, rest = self._data.partition(b"\r\n\r\n")
            if not separator:
                return
            lines = head.split(b"\r\n")
            length = next((int(line[15:]) for line in lines if line.lower().startswith(b"content-length:")), 0)
            if len(rest) < length:
                return
            self._data = rest[length:]
            self._connection.ask(lines[0].split(b" ")[1], 0)


class HTTP2:
    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    def __init__(self, connection: Connection):
        self._connection = connection
        self._data = b""
        self._begun = False
        self._decoder = Decoder()
        self._paths: dict[int, bytes] = {}

    def receive(self, data: bytes) -> None:
        self._data += data
        if not self._begun:
            if len(self._data) < len(self.PREFACE):
                return
            self._begun, self._data = True, self._data[len(self.PREFACE):]
            self._connection.send(connection_frame(SETTINGS, 0, b"").render(0))
        while len(self._data) >= 9 and not self._connection.closed:
            end = 9 + int.from_bytes(self._data[:3], "big")
            if len(self._data) < end:
                return
            frame, self._data = self._data[:end], self._data[end:]
            self._take(frame[3], frame[4], int.from_bytes(frame[5:9], "big") & 0x7FFFFFFF, frame[9:])

    def _take(self, type: int, flags: int, stream: int, payload: bytes) -> None:
        if type == SETTINGS and not flags & ACK and not self._connection.ended:
            self._connection.send(connection_frame(SETTINGS, ACK, b"").render(0))
        elif type == PING and not flags & ACK and not self._connection.ended:
            self._connection.send(connection_frame(PING, ACK, payload).render(0))
        elif type == HEADERS:
            if flags & PADDED:
                payload = payload[1:len(payload) - payload[0]]
            if flags & PRIORITIZED:
                payload = payload[5:]
            try:
                fields = dict(self._decoder.decode(payload, raw=True))
            except HPACKError:
                return self._connection.abort()
            self._paths[stream] = bytes(fields[b":path"])
        if type in (HEADERS, DATA) and flags & END_STREAM and stream in self._paths:
            self._connection.ask(self._paths.pop(stream), stream)
