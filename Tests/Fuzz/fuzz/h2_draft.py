# SPDX-License-Identifier: Apache-2.0
"""A well-formed HTTP/2 answer in frames."""
from __future__ import annotations

import dataclasses
import struct

from . import codings, hpack_writer
from .dice import Dice
from .h1_draft import STATUSES, body_length, text

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITIZED = 0x1, 0x1, 0x4, 0x8, 0x20
FIELDS = [(b"server", b"peer/1.0"), (b"date", b"Sun, 06 Nov 1994 08:49:37 GMT"), (b"etag", b'"abc-1"'),
          (b"content-type", b"text/plain"), (b"cache-control", b"max-age=0"), (b"set-cookie", b"a=b; Path=/"),
          (b"set-cookie", b"c=d"), (b"vary", b"accept-encoding"), (b"x-empty", b""), (b"x-long", b"v" * 700)]


@dataclasses.dataclass
class Frame:
    type: int
    flags: int
    payload: bytes
    stream: int = 0
    """Counted from the request's stream, unless `absolute`."""
    absolute: bool = False
    length: int | None = None
    """What the frame says of its length, where that is a lie."""
    def render(self, stream: int) -> bytes:
        number = self.stream if self.absolute else stream + self.stream
        length = len(self.payload) if self.length is None else self.length
        return struct.pack(">I", length)[1:] + struct.pack(">BBI", self.type, self.flags,
                                                           number & 0xFFFFFFFF) + self.payload


@dataclasses.dataclass
class Draft:
    fields: list[tuple[bytes, bytes]]
    frames: list[Frame]
    trailing: bytes = b""

    def render(self, stream: int) -> bytes:
        return b"".join(frame.render(stream) for frame in self.frames) + self.trailing


def connection_frame(type: int, flags: int, payload: bytes) -> Frame:
    return Frame(type, flags, payload, 0, absolute=True)


def draft(dice: Dice, method: str, target: bytes) -> Draft:
    status = dice.weighted(STATUSES)
    fields = [(b":status", b"%d" % status)] + [field for field in FIELDS if dice.chance(0.25)]
    if status in (302, 303, 307) and dice.chance(0.7):
        fields.append((b"location", target))
    data = text(dice, body_length(dice))
    coding = dice.weighted([(14, None), (3, "gzip"), (2, "deflate")])
    if coding:
        data = codings.encode(coding, data)
        fields.append((b"content-encoding", coding.encode()))
    has_no_body = method == "HEAD" or status in (204, 304)
    if dice.chance(0.6) and status not in (204, 304):
        fields.append((b"content-length", b"%d" % len(data)))
    result = Draft(fields, [])
    _interim(dice, result)
    if has_no_body:
        data = b""
    trailers = not has_no_body and dice.chance(0.12)
    ends_here = not data and not trailers and dice.chance(0.7)
    result.frames += header_frames(dice, hpack_writer.block(dice, fields), END_STREAM if ends_here else 0)
    if not ends_here:
        result.frames += data_frames(dice, data, ends=not trailers)
    if trailers:
        result.frames += header_frames(dice, hpack_writer.block(dice, [(b"x-trailer", b"yes")]), END_STREAM)
    _intersperse(dice, result)
    return result


def _interim(dice: Dice, result: Draft) -> None:
    if dice.chance(0.08):
        for _ in range(dice.between(1, 3)):
            fields = dice.pick([[(b":status", b"100")], [(b":status", b"103"), (b"link", b"</a>")]])
            result.frames += header_frames(dice, hpack_writer.block(dice, fields), 0)


def header_frames(dice: Dice, block: bytes, flags: int) -> list[Frame]:
    pieces = [block]
    if len(block) > 2 and dice.chance(0.15):
        at = dice.between(1, len(block) - 1)
        pieces = [block[:at], block[at:]]
    first = pieces[0]
    if dice.chance(0.1):
        first = struct.pack(">IB", dice.below(2) << 31, dice.below(256)) + first
        flags |= PRIORITIZED
    if dice.chance(0.1):
        first, flags = pad(dice, first), flags | PADDED
    frames = [Frame(HEADERS, flags, first)] + [Frame(CONTINUATION, 0, piece) for piece in pieces[1:]]
    frames[-1].flags |= END_HEADERS
    return frames


def data_frames(dice: Dice, data: bytes, ends: bool) -> list[Frame]:
    frames = []
    while data:
        size = min(len(data), dice.weighted([(3, dice.between(1, 40)), (3, dice.between(41, 4000)), (4, 16_384)]),
                   16_384)
        if len(frames) > 40:
            size = min(len(data), 16_384)
        frames.append(data_frame(dice, data[:size]))
        data = data[size:]
    if ends and (not frames or dice.chance(0.3)):
        frames.append(Frame(DATA, 0, b""))
    if ends:
        frames[-1].flags |= END_STREAM
    return frames


def data_frame(dice: Dice, data: bytes) -> Frame:
    if len(data) < 16_000 and dice.chance(0.1):
        return Frame(DATA, PADDED, pad(dice, data))
    return Frame(DATA, 0, data)


def pad(dice: Dice, data: bytes) -> bytes:
    count = dice.pick([0, 1, 7, 255])
    return bytes([count]) + data + bytes(count)


def _intersperse(dice: Dice, result: Draft) -> None:
    """Frames that change nothing, between the others, but not inside a header block."""
    while dice.chance(0.2):
        frame = dice.pick([
            connection_frame(PING, 0, b"12345678"),
            connection_frame(SETTINGS, 0, b""),
            connection_frame(WINDOW_UPDATE, 0, struct.pack(">I", 1000)),
            Frame(WINDOW_UPDATE, 0, struct.pack(">I", 1000)),
            connection_frame(0x42, 0xFF, b"unknown"),
            Frame(0x42, 0, b"unknown"),
            Frame(PRIORITY, 0, struct.pack(">IB", 0, 15)),
            connection_frame(SETTINGS, 0, struct.pack(">HI", 3, 100))
        ])
        insert(dice, result, frame)


def insert(dice: Dice, result: Draft, frame: Frame) -> None:
    places = [0] + [
        at + 1 for at, other in enumerate(result.frames) if other.type != HEADERS or other.flags & END_HEADERS
    ]
    # Not behind the end of the stream, as far as this is to change nothing.
    result.frames.insert(dice.pick([place for place in places if place < len(result.frames)] or [0]), frame)
