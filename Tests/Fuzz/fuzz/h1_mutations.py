# SPDX-License-Identifier: Apache-2.0
"""Mutations that know the parts of an HTTP/1.1 answer."""
from __future__ import annotations

from . import byte_mutations
from .dice import Dice
from .h1_draft import Chunk, Draft

NUMBERS = [
    b"0", b"00", b"1", b"-1", b"+5", b"5 5", b"5,5", b"5, 6", b"0x5", b"05", b"5.0", b"", b"9223372036854775807",
    b"9223372036854775808", b"18446744073709551616", b"10000000000000", b"5 ", b"\t5", b"5;", b"5\x00", b"\xb2",
    b"2097153"
]
SIZES = [
    b"0", b"00000000000000000005", b"5 5", b" 5", b"5 ", b"5\t", b"-1", b"+5", b"0x5", b"", b"g", b"5g", b"5,5", b"5;",
    b"ffffffffffffffff", b"fffffffffffffffff", b"7fffffffffffffff", b"8000000000000000", b"fffffffe", b"100000000",
    b"5\x00", b"5\x0c", b"5\x0b", b"\r5", b"5\r", b"'5'", b"\xb2", b"0Location: /x", b"5_0", b"5" * 40
]
EXTENSIONS = [
    b";", b";;", b";a=", b";=b", b"; a=b", b" ;a=b", b";a = b", b';a="', b";a\x00", b";a\x7f", b";" + b"x" * 5000,
    b";a\rb", b";a\nb", b';a="\r\n"', b"\t;a"
]
STATUS_LINES = [
    b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.1  200 OK", b"HTTP/1.1\t200 OK", b"http/1.1 200 OK", b"HTTP/1.2 200 OK",
    b"HTTP/1.9 200 OK", b"HTTP/0.9 200 OK", b"HTTP/2 200 OK", b"HTTP/2.0 200 OK", b"HTTP/3 200 OK", b"HTTP/1 200 OK",
    b"HTTP/1.1 2000 OK", b"HTTP/1.1 20 OK", b"HTTP/1.1 099 X", b"HTTP/1.1 000 X", b"HTTP/1.1 999 X", b"HTTP/1.1 600 X",
    b"HTTP/1.1 -20 X", b"HTTP/1.1 2x0 X", b"HTTP/1.1 200OK", b"HTTP/1.1 200\x00OK", b"HTTP/1.1 101 Switching Protocols",
    b"HTTP/1.1 100 Continue", b"HTTP/1.1 200 O\rK", b"HTTP/1.1 205 Reset", b"HTTP/1.1 417 X", b"HTTP/1.1 407 X",
    b"HTTP/1.1 416 X", b"ICY 200 OK", b"", b"SIP/2.0 200 OK", b"RTSP/1.0 200 OK", b"HTTP/11 200 OK",
    b"HTTP/1.10 200 OK", b"HTTP/1.1 200 " + b"x" * 5000, b" HTTP/1.1 200 OK", b"\xef\xbb\xbfHTTP/1.1 200 OK",
    b"HTTP/1.1 304 X", b"HTTP/1.1 204 X"
]
FRAMING = [
    b"Content-Length: 5", b"Content-Length: 0", b"Content-Length: 5, 5", b"Content-Length : 5", b"Content-Length:",
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding:\tchunked",
    b"Transfer-Encoding : chunked", b"transfer-encoding: CHUNKED", b"Transfer-Encoding: chunked,",
    b"Transfer-Encoding:", b"Transfer-Encoding: chunked;q=1", b'Transfer-Encoding: "chunked"',
    b"Transfer-Encoding: chunked, identity", b"Transfer_Encoding: chunked", b"Transfer-Encoding: \x0bchunked",
    b"Content-Length: 2097153", b"Connection: close", b"Connection: keep-alive", b"Connection: upgrade\r\nUpgrade: h2c",
    b"Upgrade: h2c", b"Connection: close, content-length", b"Keep-Alive: timeout=0", b"Proxy-Connection: close"
]
CODINGS = [
    b"gzip", b"deflate", b"br", b"zstd", b"compress", b"identity", b"x-gzip", b"GZIP", b"gzip, gzip", b"gzip, br",
    b"gzip,", b"", b"unknown", b"gzip;q=1", b"identity, gzip", b"aes128gcm", b"none", b"chunked", b"gzip\t"
]
ODD_FIELDS = [
    b": no name", b"no colon", b"sp ace: v", b"Trailing : v", b"X\x00: v", b"X: \x00", b"X: a\x01b", b"X: \x7f",
    b"X:\x0bv", b"X: a\rb", b"X: \r", b"X\xe9: v", b"(X): v", b"X:", b"X", b"@x: y", b"X: " + b"y" * 9000,
    b"HTTP/1.1 200 OK", b"Set-Cookie: a=b; domain=.example", b"Strict-Transport-Security: max-age=1",
    b"Alt-Svc: h2=\":1\"", b"Retry-After: 1", b"Content-Range: bytes 0-1/2", b"Trailer: X", b"Host: x",
    b"Date: \xff\xfe", b'Refresh: 0;url=/x'
]


def fold_first(dice: Dice, draft: Draft) -> None:
    """A folded line after the status line, before any field."""
    draft.lines.insert(1, dice.pick([b" x: folded", b"\tfolded", b" ", b"  \t", b" folded: " + b"y" * 600]))


def fold(dice: Dice, draft: Draft) -> None:
    draft.lines.insert(dice.between(1, len(draft.lines)),
                       dice.pick([b" ", b"\t", b"  "]) + dice.pick([b"more", b"", b"x: y", b"5"]))


def fold_value(dice: Dice, draft: Draft) -> None:
    """The value of a field on a line of its own."""
    if len(draft.lines) > 1:
        at = dice.between(1, len(draft.lines) - 1)
        draft.lines[at] = draft.lines[at].replace(b": ", b":\r\n ", 1)


def status_line(dice: Dice, draft: Draft) -> None:
    draft.lines[0] = dice.pick(STATUS_LINES)


def line_ends(dice: Dice, draft: Draft) -> None:
    draft.end = dice.pick([b"\n", b"\r\n", b"\r\r\n", b"\n\n", b"\r"])
    draft.head_end = dice.pick([b"\n", b"\r\n", b"\r", b"\r\r\n", b" \r\n"])


def length(dice: Dice, draft: Draft) -> None:
    value = dice.pick(NUMBERS) if dice.chance(0.7) else b"%d" % max(0, len(draft.body) + dice.between(-3, 3))
    at = draft.field_index(b"content-length")
    if at is None:
        draft.lines.append(b"Content-Length: " + value)
    else:
        draft.lines[at] = b"Content-Length: " + value


def framing(dice: Dice, draft: Draft) -> None:
    draft.lines.insert(dice.between(1, len(draft.lines)), dice.pick(FRAMING))


def duplicate_field(dice: Dice, draft: Draft) -> None:
    if len(draft.lines) > 1:
        draft.lines.insert(dice.between(1, len(draft.lines)), dice.pick(draft.lines[1:]))


def remove_field(dice: Dice, draft: Draft) -> None:
    if len(draft.lines) > 1:
        del draft.lines[dice.between(1, len(draft.lines) - 1)]


def odd_field(dice: Dice, draft: Draft) -> None:
    draft.lines.insert(dice.between(1, len(draft.lines)), dice.pick(ODD_FIELDS))


def many_fields(dice: Dice, draft: Draft) -> None:
    draft.lines += [b"X-%d: y" % number for number in range(dice.pick([30, 40, 200, 600]))]


def interim(dice: Dice, draft: Draft) -> None:
    head = dice.pick([
        b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 X\r\nLink: x\r\n\r\n",
        b"HTTP/1.1 102 X\r\nContent-Length: 5\r\n\r\n", b"HTTP/1.1 199 X\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n folded\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.0 100 Continue\r\n\r\n", b"HTTP/1.1 103 X\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 103 X\r\nLocation: /elsewhere\r\n\r\n", b"HTTP/1.1 103 X\r\nContent-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 100 Continue\n\n", b"HTTP/1.1 100\r\n\r\n"
    ])
    for _ in range(dice.weighted([(6, 1), (2, 2), (1, 31), (1, 33)])):
        draft.interim.insert(dice.between(0, len(draft.interim)), head)


def coding(dice: Dice, draft: Draft) -> None:
    at = draft.field_index(b"content-encoding")
    line = b"Content-Encoding: " + dice.pick(CODINGS)
    if at is None or dice.chance(0.2):
        draft.lines.append(line)
    else:
        draft.lines[at] = line


def chunk_line(dice: Dice, draft: Draft) -> None:
    if not draft.chunks:
        return framing(dice, draft)
    chunk = dice.pick(draft.chunks)
    dice.pick([_chunk_size, _chunk_size, _chunk_extension, _chunk_end, _chunk_size_end])(dice, chunk)


def _chunk_size(dice: Dice, chunk: Chunk) -> None:
    if dice.chance(0.4):
        chunk.size = b"%x" % max(0, len(chunk.data) + dice.between(-2, 2))
    elif dice.chance(0.4):
        chunk.size = dice.pick([
            b"%x 5", b"%x\t", b"%x ", b" %x", b"0x%x", b"+%x", b"%x\x00", b"%xg", b"%x,", b"%x\x0c",
            b"0000000000000000000%x", b"%xLocation: /x"
        ]) % len(chunk.data)
    else:
        chunk.size = dice.pick(SIZES)


def _chunk_extension(dice: Dice, chunk: Chunk) -> None:
    chunk.extension = dice.pick(EXTENSIONS)


def _chunk_end(dice: Dice, chunk: Chunk) -> None:
    chunk.end = dice.pick([b"\n", b"\r", b"", b"x\r\n", b"\r\n\r\n", b"\n\r", b"  \r\n", b"\r\r\n"])


def _chunk_size_end(dice: Dice, chunk: Chunk) -> None:
    chunk.size_end = dice.pick([b"\n", b"\r", b"", b"\r\r\n", b"\n\n", b"\r\nx"])


def last_chunk(dice: Dice, draft: Draft) -> None:
    if draft.chunks is None:
        return length(dice, draft)
    draft.last_chunk = dice.pick([
        b"", b"00\r\n", b"0;a\r\n", b"0 \r\n", b"0\n", b"0\r", b"-0\r\n", b"0\r\n\r\n", b"1\r\n",
        b"000000000000000000000\r\n"
    ])


def trailers(dice: Dice, draft: Draft) -> None:
    if draft.chunks is None:
        return odd_field(dice, draft)
    line = dice.pick([
        b"X: y", b"no colon", b" fold", b"X: \x00", b"Content-Length: 5", b"Transfer-Encoding: chunked", b": x",
        b"X : y", b"Location: /elsewhere", b"Content-Encoding: gzip", b"X: " + b"y" * 4000, b"HTTP/1.1 200 OK",
        b"X: a\rb"
    ])
    for _ in range(dice.weighted([(8, 1), (1, 600)])):
        draft.trailers.append(line)


def extra_bytes(dice: Dice, draft: Draft) -> None:
    if dice.chance(0.4):
        draft.extra = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        return
    draft.extra = dice.pick([
        b"x", b"\r\n", b"\n", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", b"0\r\n\r\n", b"\x00" * 20_000,
        b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"
    ])


def corrupt_body(dice: Dice, draft: Draft) -> None:
    """One byte of the data that the chunks or the length delimit: what its coding must notice."""
    if draft.chunks:
        chunk = dice.pick(draft.chunks)
        chunk.data = _change_byte(dice, chunk.data)
    else:
        draft.body = _change_byte(dice, draft.body)


def _change_byte(dice: Dice, data: bytes) -> bytes:
    if not data:
        return data
    at = dice.below(len(data))
    return data[:at] + dice.bytes(1) + data[at + 1:]


def cut_body(dice: Dice, draft: Draft) -> None:
    """Fewer bytes, and a head or chunks that say so: only the coding can notice."""
    keep = dice.below(len(draft.body) + 1)
    if draft.chunks:
        at = dice.below(len(draft.chunks))
        del draft.chunks[at]
        return
    draft.body = draft.body[:keep]
    at = draft.field_index(b"content-length")
    if at is not None:
        draft.lines[at] = b"Content-Length: %d" % keep


def pad_body(dice: Dice, draft: Draft) -> None:
    """Bytes behind the data, inside the framing."""
    more = dice.pick([b"x", b"\x00", b"\x00" * 100, b"\x1f\x8b", b"\x1f\x8b\x08\x00garbage and more", b"\r\n"])
    if draft.chunks is not None:
        draft.chunks.append(Chunk(b"%x" % len(more), more))
        return
    draft.body += more
    at = draft.field_index(b"content-length")
    if at is not None:
        draft.lines[at] = b"Content-Length: %d" % len(draft.body)


STRUCTURE = [(3, fold_first), (3, fold), (2, fold_value), (5, status_line), (2, line_ends), (5, length), (5, framing),
             (2, duplicate_field), (2, remove_field), (4, odd_field), (1, many_fields), (4, interim), (4, coding),
             (8, chunk_line), (2, last_chunk), (3, trailers), (4, extra_bytes), (3, corrupt_body), (3, cut_body),
             (2, pad_body)]


def mutate(dice: Dice, draft: Draft) -> tuple[bytes, list[str]]:
    """The bytes of the answer, and the names of what was done to it. One in fifteen is left as it is."""
    names = []
    if dice.chance(1 / 15):
        return draft.render(), names
    kind = dice.weighted([(6, "structure"), (3, "bytes"), (2, "both")])
    if kind != "bytes":
        for _ in range(dice.weighted([(6, 1), (2, 2), (1, 3)])):
            mutation = dice.weighted(STRUCTURE)
            mutation(dice, draft)
            names.append(mutation.__name__)
    data = draft.render()
    if kind != "structure":
        for _ in range(dice.weighted([(6, 1), (2, 2), (1, 3)])):
            mutation = dice.weighted(byte_mutations.ALL)
            data = mutation(dice, data)
            names.append(mutation.__name__)
    return data, names
