# SPDX-License-Identifier: Apache-2.0
"""A well-formed HTTP/1.1 answer in parts, so that mutations find them."""
from __future__ import annotations

import dataclasses

from . import codings
from .dice import Dice

REASONS = {
    200: b"OK",
    201: b"Created",
    204: b"No Content",
    206: b"Partial Content",
    302: b"Found",
    303: b"See Other",
    304: b"Not Modified",
    307: b"Temporary Redirect",
    400: b"Bad Request",
    401: b"Unauthorized",
    404: b"Not Found",
    429: b"Too Many Requests",
    500: b"Internal Server Error",
    503: b"Service Unavailable"
}
STATUSES = [(60, 200), (3, 201), (4, 204), (3, 206), (4, 302), (2, 303), (3, 304), (2, 307), (3, 400), (2, 401),
            (6, 404), (2, 429), (5, 500), (3, 503)]
FIELDS = [(b"Server", b"peer/1.0"), (b"Date", b"Sun, 06 Nov 1994 08:49:37 GMT"), (b"ETag", b'"abc-1"'),
          (b"Content-Type", b"text/plain; charset=utf-8"), (b"Cache-Control", b"max-age=0, private"),
          (b"Set-Cookie", b"a=b; Path=/"), (b"Set-Cookie", b"c=d; HttpOnly"), (b"Vary", b"Accept-Encoding"),
          (b"X-Empty", b""), (b"X-Long", b"v" * 700), (b"X-Latin", b"caf\xe9"), (b"X-Text", "naïve ☃".encode())]


@dataclasses.dataclass
class Chunk:
    size: bytes
    data: bytes
    extension: bytes = b""
    size_end: bytes = b"\r\n"
    end: bytes = b"\r\n"

    def render(self) -> bytes:
        return self.size + self.extension + self.size_end + self.data + self.end


@dataclasses.dataclass
class Draft:
    interim: list[bytes]
    lines: list[bytes]
    """Status line and field lines, without their ends."""
    body: bytes
    chunks: list[Chunk] | None
    last_chunk: bytes = b"0\r\n"
    trailers: list[bytes] = dataclasses.field(default_factory=list)
    end: bytes = b"\r\n"
    """Of each line of the head."""
    head_end: bytes = b"\r\n"
    extra: bytes = b""

    def head(self) -> bytes:
        return b"".join(line + self.end for line in self.lines) + self.head_end

    def render(self) -> bytes:
        if self.chunks is None:
            body = self.body
        else:
            trailers = b"".join(line + b"\r\n" for line in self.trailers)
            body = b"".join(chunk.render() for chunk in self.chunks) + self.last_chunk + trailers + b"\r\n"
        return b"".join(self.interim) + self.head() + body + self.extra

    def field_index(self, name: bytes) -> int | None:
        for index, line in enumerate(self.lines[1:], 1):
            if line.lower().startswith(name + b":"):
                return index
        return None


def text(dice: Dice, length: int) -> bytes:
    words = [b"lorem ", b"ipsum ", b"\r\n", b"0\r\n\r\n", b"HTTP/1.1 200 OK\r\n", b"\x00\x01", b"dolor sit ", b"amet, "]
    result = b""
    while len(result) < length:
        result += dice.pick(words)
    return result[:length]


def body_length(dice: Dice) -> int:
    return dice.weighted([(2, 0), (3, 1), (12, dice.between(2, 60)), (6, dice.between(61, 2000)),
                          (2, dice.between(2001, 40_000))])


def draft(dice: Dice, method: str, target: bytes) -> Draft:
    status = dice.weighted(STATUSES)
    fields = [field for field in FIELDS if dice.chance(0.25)]
    if status in (302, 303, 307) and dice.chance(0.7):
        fields.append((b"Location", target))
    if status == 401:
        fields.append((b"WWW-Authenticate", b'Basic realm="x"'))
    data = text(dice, body_length(dice))
    coding = dice.weighted([(14, None), (4, "gzip"), (2, "deflate"), (1, "raw-deflate"), (1, "x-gzip")])
    if coding:
        data = codings.encode(coding, data, members=dice.weighted([(4, 1), (1, 2), (1, 3)]))
        fields.append((b"Content-Encoding", coding.replace("raw-", "").encode()))
    framing = dice.weighted([(10, "length"), (8, "chunked"), (2, "close")])
    has_no_body = method == "HEAD" or status in (204, 304)
    if framing == "chunked" and status != 204:
        fields.append((b"Transfer-Encoding", b"chunked"))
    elif framing == "length" and status not in (204, 304):
        fields.append((b"Content-Length", str(len(data)).encode()))
    version = b"HTTP/1.0" if framing == "close" and dice.chance(0.5) else b"HTTP/1.1"
    if dice.chance(0.1):
        fields.append((b"Connection", dice.pick([b"close", b"keep-alive", b"Keep-Alive, x"])))
    position = dice.below(len(fields) + 1)
    fields = fields[position:] + fields[:position]
    lines = [b"%s %d %s" % (version, status, REASONS[status])] + [name + b": " + value for name, value in fields]
    interim = []
    if version == b"HTTP/1.1" and dice.chance(0.08):
        interim = [
            dice.pick([b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"])
            for _ in range(dice.between(1, 3))
        ]
    result = Draft(interim, lines, b"" if has_no_body else data, None)
    if framing == "chunked" and not has_no_body:
        _chunk(dice, result, data)
    return result


def _chunk(dice: Dice, result: Draft, data: bytes) -> None:
    result.chunks = []
    while data:
        size = min(len(data), dice.weighted([(4, dice.between(1, 16)), (4, dice.between(17, 5000)), (4, len(data))]))
        digits = dice.pick([b"%x", b"%X", b"%04x"]) % size
        extension = dice.weighted([(12, b""), (1, b";a=b"), (1, b';a="b;c"'), (1, b";a")])
        result.chunks.append(Chunk(digits, data[:size], extension))
        data = data[size:]
        if len(result.chunks) == 40:
            size, data = len(data), data
            if size:
                result.chunks.append(Chunk(b"%x" % size, data))
            break
    if dice.chance(0.2):
        result.trailers = [b"X-Trailer: yes", b"Digest: abc"][:dice.between(1, 2)]
