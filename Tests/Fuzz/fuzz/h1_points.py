# SPDX-License-Identifier: Apache-2.0
"""Where HTTP/1.1 may be read otherwise than h11 does: looked for in the bytes, apart from both readers."""
from __future__ import annotations

import re

from .conclusion import Conclusion

CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
LENGTHS = re.compile(rb"[ \t]*\d{1,18}[ \t]*(,[ \t]*\d{1,18}[ \t]*)*")
FRAMING = (b"content-length", b"transfer-encoding")
MOST_INTERIM, MOST_FIELDS = 32, 500


def of(answer: bytes, conclusion: Conclusion) -> set[str]:
    points, interim, rest = set(), 0, answer
    while True:
        lines, rest = _head(rest)
        if not lines:
            return points
        points |= _of_head(lines)
        if not re.match(rb"HTTP/\d\.\d 1", lines[0]):
            break
        interim += 1
        if any(_name(line) in FRAMING for line in lines):
            points.add("framing of an interim response")
    if interim > MOST_INTERIM:
        points.add("many interim responses")
    if conclusion.values(b"transfer-encoding"):
        points |= _of_chunks(rest)
    return points


def _head(data: bytes) -> tuple[list[bytes], bytes]:
    """The lines of a head, and what follows it."""
    end = re.search(rb"\n\r?\n", data)
    if not end:
        return [], b""
    lines = data[:end.start()].split(b"\n")
    return [line.removesuffix(b"\r") for line in lines], data[end.end():]


def _name(line: bytes) -> bytes:
    return line.partition(b":")[0].lower()


def _of_head(lines: list[bytes]) -> set[str]:
    points = set()
    names = [_name(line) for line in lines[1:]]
    if any(CONTROL.search(line) for line in lines):
        points.add("control character")
    if all(name in names for name in FRAMING):
        points.add("length beside a transfer coding")
    if b"transfer-encoding" in names and not lines[0].startswith(b"HTTP/1.1"):
        points.add("transfer coding before HTTP/1.1")
    if not lines[0].startswith((b"HTTP/1.1", b"HTTP/1.0")):
        points.add("unknown version")
    if any(_name(line) == b"content-length" and not LENGTHS.fullmatch(line.partition(b":")[2]) for line in lines):
        points.add("length that is no number")
    if len(names) > MOST_FIELDS:
        points.add("many fields")
    for before, line in zip(names, lines[2:]):
        if line[:1] in (b" ", b"\t") and before in FRAMING:
            points.add("folded framing field")
    return points


def _of_chunks(data: bytes) -> set[str]:
    """Only what can be told without reading the chunks: what their trailers may have in them."""
    points = set()
    data = b"\n" + data
    trailers = data[max(0, data.rfind(b"\n0")):]
    if trailers.count(b"\n") > MOST_FIELDS:
        points.add("many fields")
    if CONTROL.search(trailers.replace(b"\r\n", b"\n")):
        points.add("control character")
    return points
