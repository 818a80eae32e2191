# SPDX-License-Identifier: Apache-2.0
"""Where HTTP/1.1 may be read otherwise than h11 does: looked for in the bytes, apart from both readers."""
from __future__ import annotations

import re

from .conclusion import Conclusion

CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
LENGTHS = re.compile(rb"[ \t]*\d{1,18}[ \t]*(,[ \t]*\d{1,18}[ \t]*)*")
CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]+)(.*)\r", re.DOTALL)
_TOKEN = rb"[0-9A-Za-z!#$%&'*+.^_`|~-]+"
EXTENSIONS = re.compile(
    rb"([ \t]*;[ \t]*%s([ \t]*=[ \t]*(%s|\"([^\"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*\"))?)*" %
    (_TOKEN, _TOKEN))
FRAMING = (b"content-length", b"transfer-encoding")
FRAMING_FIELD = re.compile(rb"(?im)^(content-length|transfer-encoding):[^\n]*\n([ \t][^\n]*\n)*")
DROPPED_COOKIE = re.compile(rb"(?im)^set-cookie:(?=[^\n]*[\x01-\x08\x0b\x0c\x0e-\x1f\x7f])[^\x00\r\n]*\r?\n(?![ \t])")
INTERIM = re.compile(rb"HTTP/\d\.\d 1")
BODYLESS = re.compile(rb"HTTP/\d\.\d (204|304)\b")
MOST_INTERIM, MOST_FIELDS = 32, 500


def of(answer: bytes, method: str, conclusion: Conclusion) -> set[str]:
    points, interim, rest = set(), 0, answer
    while True:
        lines, rest = _head(rest)
        if not lines:
            return points
        points |= _of_head(lines, has_no_body(lines[0], method))
        if not INTERIM.match(lines[0]):
            break
        interim += 1
    if interim > MOST_INTERIM:
        points.add("many interim responses")
    if conclusion.values(b"transfer-encoding"):
        points |= _of_chunks(rest)
    return points


def without_space_before_extensions(answer: bytes) -> bytes:
    """RFC 9112 7.1.1 has recipients read over it, h11 does not."""
    head = re.search(rb"\n\r?\n(?!HTTP/)", answer)
    if not head or not re.search(rb"(?i)transfer-encoding", answer[:head.end()]):
        return answer
    result, data = [answer[:head.end()]], answer[head.end():]
    while True:
        line, end, rest = data.partition(b"\n")
        found = CHUNK_LINE.fullmatch(line)
        size = int(found[1], 16) if found else 0
        if size == 0 or not end:
            return b"".join(result) + (_without_space(found, data) if found else data)
        result.append(_without_space(found, line + end) + rest[:size + 2])
        data = rest[size + 2:]


def without_ignored_fields(answer: bytes, method: str) -> bytes:
    """Removes the fields that a recipient ignores and h11 judges.

    They are those that frame a body in heads that have none (RFC 9112 6.3), and cookies with a control character that
    ends no line (RFC 6265bis 5.6).
    """
    result, rest = [], answer
    while end := re.search(rb"\n\r?\n", rest):
        head, rest = rest[:end.end()], rest[end.end():]
        bodyless = has_no_body(head, method)
        result.append(DROPPED_COOKIE.sub(b"", FRAMING_FIELD.sub(b"", head) if bodyless else head))
        if not INTERIM.match(head):
            break
    return b"".join(result) + rest


def has_no_body(head: bytes, method: str) -> bool:
    return bool(INTERIM.match(head) or BODYLESS.match(head)) or method == "HEAD"


def _without_space(found: re.Match[bytes], data: bytes) -> bytes:
    digits, extensions = found.groups()
    if not EXTENSIONS.fullmatch(extensions):
        return data
    return digits + extensions.lstrip(b" \t") + data[len(digits) + len(extensions):]


def _head(data: bytes) -> tuple[list[bytes], bytes]:
    """The lines of a head, and what follows it."""
    end = re.search(rb"\n\r?\n", data)
    if not end:
        return [], b""
    lines = data[:end.start()].split(b"\n")
    return [line.removesuffix(b"\r") for line in lines], data[end.end():]


def _name(line: bytes) -> bytes:
    return line.partition(b":")[0].lower()


def _of_head(lines: list[bytes], is_bodyless: bool) -> set[str]:
    points = set()
    names = [_name(line) for line in lines[1:]]
    if any(CONTROL.search(line) for line in lines):
        points.add("control character")
    if not is_bodyless:
        points |= _of_framing(lines, names)
    if not lines[0].startswith((b"HTTP/1.1", b"HTTP/1.0")):
        points.add("unknown version")
    if len(names) > MOST_FIELDS:
        points.add("many fields")
    for before, line in zip(names, lines[2:]):
        if line[:1] in (b" ", b"\t") and before in FRAMING:
            points.add("folded framing field")
    return points


def _of_framing(lines: list[bytes], names: list[bytes]) -> set[str]:
    points = set()
    if all(name in names for name in FRAMING):
        points.add("length beside a transfer coding")
    if b"transfer-encoding" in names and not lines[0].startswith(b"HTTP/1.1"):
        points.add("transfer coding before HTTP/1.1")
    if any(_name(line) == b"content-length" and not LENGTHS.fullmatch(line.partition(b":")[2]) for line in lines):
        points.add("length that is no number")
    return points


def _of_chunks(data: bytes) -> set[str]:
    points = set()
    while True:
        line, _, data = data.partition(b"\n")
        found = CHUNK_LINE.fullmatch(line)
        if not found:
            return points
        digits, rest = found.groups()
        if len(digits) > 16 or len(line) > 4096 or not EXTENSIONS.fullmatch(rest):
            points.add("chunk line")
        size = int(digits, 16)
        if size == 0:
            return points | _of_trailers(data)
        data = data[size + 2:]


def _of_trailers(data: bytes) -> set[str]:
    lines = data.split(b"\r\n\r\n")[0].split(b"\r\n")
    points = set()
    if len(lines) > MOST_FIELDS:
        points.add("many fields")
    if any(CONTROL.search(line) for line in lines):
        points.add("control character")
    if any(b"\n" in line for line in lines):
        points.add("trailer line that ends in LF")
    if any(line[:1] in (b" ", b"\t") for line in lines):
        points.add("folded trailer")
    return points
