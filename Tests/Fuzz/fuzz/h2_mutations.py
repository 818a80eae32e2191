# SPDX-License-Identifier: Apache-2.0
"""Mutations of an HTTP/2 answer: frames of every type, anywhere, with anything in them."""
from __future__ import annotations

import struct

from . import byte_mutations, hpack_writer
from .dice import Dice
from .h2_draft import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PRIORITY,
                       PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, Draft, Frame, connection_frame)

ODD_FIELDS = [
    (b"X-Upper", b"v"), (b"", b"v"), (b"sp ace", b"v"), (b"x", b"a\x00b"), (b"x", b"a\r\nb: c"), (b"x", b"a\nb"),
    (b"x", b" v "), (b"x", b"\x01"), (b"x", b"\x7f"), (b"x", b"\xff\xfe"), (b":status", b"200"), (b":status", b"404"),
    (b":path", b"/"), (b":unknown", b"v"), (b"connection", b"close"), (b"transfer-encoding", b"chunked"),
    (b"keep-alive", b"x"), (b"upgrade", b"h2c"), (b"te", b"gzip"), (b"te", b"trailers"), (b"proxy-connection", b"x"),
    (b"content-length", b"5"), (b"content-length", b"0"), (b"content-length", b"-1"), (b"content-length", b"x"),
    (b"content-length", b"5, 5"), (b"content-length", b"99999999999999999999"), (b"content-length", b"2097153"),
    (b"content-encoding", b"br"), (b"content-encoding", b"gzip"), (b"content-encoding", b"zstd"),
    (b"content-encoding", b"gzip, gzip"), (b"x", b"y" * 20_000), (b"x:y", b"v"), (b"x\r\ny", b"v"), (b"x", b"\ty"),
    (b"cookie", b"a=b"), (b"host", b"x"), (b"set-cookie", b"a=b"), (b"x\xe9", b"v"), (b"(x)", b"v"),
    (b"location", b"/elsewhere"), (b":authority", b"x")
]
STATUSES = [
    b"101", b"99", b"099", b"1000", b"2000", b"20", b"", b"2x0", b"+20", b" 200", b"200 ", b"000", b"999", b"600",
    b"205", b"304", b"204", b"100", b"417", b"\xb2\xb0\xb0", b"2\x0000"
]


def _rebuild(dice: Dice, draft: Draft) -> None:
    """Puts the changed fields in place of the answer's head."""
    first = _head_index(draft)
    if first is None:
        return
    last = first
    while last < len(draft.frames) - 1 and not draft.frames[last].flags & END_HEADERS:
        last += 1
    flags = draft.frames[first].flags & END_STREAM | END_HEADERS
    draft.frames[first:last + 1] = [Frame(HEADERS, flags, hpack_writer.block(dice, draft.fields))]


def _head_index(draft: Draft) -> int | None:
    return next((at for at, frame in enumerate(draft.frames) if frame.type == HEADERS), None)


def odd_field(dice: Dice, draft: Draft) -> None:
    field = dice.pick(ODD_FIELDS)
    draft.fields.insert(dice.between(0 if field[0].startswith(b":") or dice.chance(0.1) else 1, len(draft.fields)),
                        field)
    _rebuild(dice, draft)


def status(dice: Dice, draft: Draft) -> None:
    draft.fields[:1] = [(b":status", dice.pick(STATUSES))]
    _rebuild(dice, draft)


def fields(dice: Dice, draft: Draft) -> None:
    """Fields repeated, left out, or in another order."""
    if not draft.fields:
        return
    field = draft.fields.pop(dice.below(len(draft.fields)))
    if dice.chance(0.6):
        for _ in range(dice.weighted([(4, 1), (2, 2), (1, 400)])):
            draft.fields.insert(dice.between(0, len(draft.fields)), field)
    _rebuild(dice, draft)


def trailers(dice: Dice, draft: Draft) -> None:
    for frame in draft.frames:
        if frame.type in (DATA, HEADERS):
            frame.flags &= ~END_STREAM
    field = dice.pick(ODD_FIELDS + [(b"x", b"y")] * 10)
    flags = END_HEADERS | (END_STREAM if dice.chance(0.8) else 0)
    draft.frames.append(Frame(HEADERS, flags, hpack_writer.block(dice, [field])))


def interim(dice: Dice, draft: Draft) -> None:
    field = [(b":status", dice.pick([b"100", b"103", b"101", b"199", b"102"]))]
    if dice.chance(0.4):
        field.append(dice.pick(ODD_FIELDS))
    frame = Frame(HEADERS, END_HEADERS | (END_STREAM if dice.chance(0.1) else 0), hpack_writer.block(dice, field))
    for _ in range(dice.weighted([(6, 1), (1, 33)])):
        draft.frames.insert(0, frame)


def hpack_block(dice: Dice, draft: Draft) -> None:
    """Bytes of a header block that no encoder writes."""
    at = _head_index(draft)
    if at is None:
        return
    frame = draft.frames[at]
    piece = dice.pick([
        b"\x80", b"\xbe", b"\xff\xff\xff\xff\xff\xff\xff", b"\xff\x80\x80\x80\x80\x80\x01", b"\x20", b"\x3f\xe1\x1f",
        b"\x3f\xe2\x1f", b"\x3f\xff\xff\xff\x7f", b"\x40\x81\xff\x01a", b"\x40\x01x\x81\xff",
        b"\x40\x01x\x85\xff\xff\xff\xff\xff", b"\x00\x7f\xff\xff\xff\x0f", b"\x40\x01a\x01b\xbe\xbe\xbf",
        b"\x00\x00\x01v", b"\x0f\x2f\x01v", b"\x40\x01x\x7f\x00" + b"y" * 127, b"\x5f" + b"\x80" * 20,
        b"\x00\x01x\x84\xff\xff\xff\xfb", b"\x88", b"\x82", b"\x3f\x00"
    ])
    place = dice.pick([0, len(frame.payload), dice.below(len(frame.payload) + 1)])
    frame.payload = frame.payload[:place] + piece + frame.payload[place:]


def payload_bytes(dice: Dice, draft: Draft) -> None:
    frame = dice.pick(draft.frames)
    frame.payload = dice.weighted(byte_mutations.ALL)(dice, frame.payload)


def head_bytes(dice: Dice, draft: Draft) -> None:
    at = _head_index(draft)
    if at is not None:
        draft.frames[at].payload = dice.weighted(byte_mutations.ALL)(dice, draft.frames[at].payload)


def flags(dice: Dice, draft: Draft) -> None:
    frame = dice.pick(draft.frames)
    frame.flags = dice.below(256) if dice.chance(0.3) else frame.flags ^ dice.pick([1, 2, 4, 8, 0x20, 0x40, 0x80])


def frame_type(dice: Dice, draft: Draft) -> None:
    dice.pick(draft.frames).type = dice.below(12) if dice.chance(0.9) else dice.below(256)


def stream(dice: Dice, draft: Draft) -> None:
    frame = dice.pick(draft.frames)
    frame.stream, frame.absolute = dice.pick([(0, True), (2, False), (-2, False), (1, False), (-1, False), (2, True),
                                              (0x7FFFFFFF, True), (0x80000000, False), (0x80000000, True),
                                              (100, False)])


def frame_length(dice: Dice, draft: Draft) -> None:
    frame = dice.pick(draft.frames)
    frame.length = dice.pick([
        0, 1,
        max(0,
            len(frame.payload) - 1),
        len(frame.payload) + 1,
        len(frame.payload) + 9, 16_385, 0xFFFFFF,
        max(0,
            len(frame.payload) - 5)
    ])


def padding(dice: Dice, draft: Draft) -> None:
    frames = [frame for frame in draft.frames if frame.type in (DATA, HEADERS)] or draft.frames
    frame = dice.pick(frames)
    count = dice.pick([0, 1, len(frame.payload), len(frame.payload) + 1, len(frame.payload) - 1, 255, 200])
    frame.flags |= PADDED
    frame.payload = bytes([max(0, min(255, count))
                           ]) + frame.payload + (bytes(count) if 0 < count and dice.chance(0.4) else b"")


def big_data(dice: Dice, draft: Draft) -> None:
    """Frames at the limit of their size, and past it."""
    draft.frames.insert(dice.between(0, len(draft.frames)),
                        Frame(DATA, 0, b"d" * dice.pick([16_383, 16_384, 16_385, 40_000])))


def remove(dice: Dice, draft: Draft) -> None:
    if len(draft.frames) > 1:
        del draft.frames[dice.below(len(draft.frames))]


def repeat(dice: Dice, draft: Draft) -> None:
    draft.frames.insert(dice.between(0, len(draft.frames)), dice.pick(draft.frames))


def swap(dice: Dice, draft: Draft) -> None:
    one, other = dice.below(len(draft.frames)), dice.below(len(draft.frames))
    draft.frames[one], draft.frames[other] = draft.frames[other], draft.frames[one]


def foreign_frame(dice: Dice, draft: Draft) -> None:
    """A frame of any type at any point, also inside a header block and behind the end."""
    make = dice.pick([
        _reset, _goaway, _window, _settings, _ping, _priority, _push, _continuation, _unknown, _empty_data
    ])
    frame = make(dice)
    if frame.stream == 0 and not frame.absolute and dice.chance(0.1):
        frame.stream, frame.absolute = dice.pick([(0, True), (2, False), (-2, False), (1001, True)])
    for _ in range(dice.weighted([(8, 1), (1, 2), (1, 50)])):
        draft.frames.insert(dice.between(0, len(draft.frames)), frame)


def _size(dice: Dice, payload: bytes) -> bytes:
    return payload if dice.chance(0.9) else dice.pick([b"", payload[:-1], payload + b"\x00"])


def _reset(dice: Dice) -> Frame:
    return Frame(RST_STREAM, 0, _size(dice, struct.pack(">I", dice.pick([0, 0, 1, 2, 7, 8, 11, 13, 0xFFFFFFFF]))))


def _goaway(dice: Dice) -> Frame:
    last = dice.pick([0, 1, 3, 5, 0x7FFFFFFF, 0x7FFFFFFF, 2])
    payload = _size(dice, struct.pack(">II", last, dice.pick([0, 0, 0, 1, 2, 11]))) + dice.pick([b"", b"debug"])
    return connection_frame(GOAWAY, 0, payload)


def _window(dice: Dice) -> Frame:
    payload = _size(dice, struct.pack(">I", dice.pick([0, 1, 65_535, 0x7FFFFFFF, 0x80000001, 0xFFFFFFFF])))
    return connection_frame(WINDOW_UPDATE, 0, payload) if dice.chance(0.5) else Frame(WINDOW_UPDATE, 0, payload)


def _settings(dice: Dice) -> Frame:
    if dice.chance(0.15):
        return connection_frame(SETTINGS, ACK, dice.pick([b"", b"\x00" * 6]))
    payload = struct.pack(">HI", dice.between(0, 9),
                          dice.pick([0, 1, 100, 4096, 16_383, 16_384, 65_535, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]))
    return connection_frame(SETTINGS, 0, _size(dice, payload))


def _ping(dice: Dice) -> Frame:
    return connection_frame(PING, dice.pick([0, ACK]), _size(dice, b"12345678"))


def _priority(dice: Dice) -> Frame:
    return Frame(PRIORITY, 0,
                 _size(dice, struct.pack(">IB", dice.pick([0, 1, 3, 0x7FFFFFFF, 0x80000000]), dice.below(256))))


def _push(dice: Dice) -> Frame:
    return Frame(PUSH_PROMISE, END_HEADERS,
                 struct.pack(">I", dice.pick([2, 4, 0, 3])) + hpack_writer.plain_block([(b":method", b"GET")]))


def _continuation(dice: Dice) -> Frame:
    return Frame(CONTINUATION, dice.pick([0, END_HEADERS]), dice.pick([b"", hpack_writer.plain_field(b"x", b"y")]))


def _unknown(dice: Dice) -> Frame:
    return Frame(dice.between(10, 255), dice.below(256), dice.bytes(dice.below(40)))


def _empty_data(dice: Dice) -> Frame:
    return Frame(DATA, dice.pick([0, END_STREAM]), b"")


def truncate(dice: Dice, draft: Draft) -> None:
    if dice.chance(0.5):
        del draft.frames[dice.below(len(draft.frames)) + 1:]
    draft.frames[-1].length = len(draft.frames[-1].payload)
    draft.frames[-1].payload = draft.frames[-1].payload[:dice.below(len(draft.frames[-1].payload) + 1)]


def extra_bytes(dice: Dice, draft: Draft) -> None:
    draft.trailing = dice.pick([
        b"\x00", b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", b"\x00" * 9, b"\xff" * 40
    ])


def corrupt_body(dice: Dice, draft: Draft) -> None:
    frames = [frame for frame in draft.frames if frame.type == DATA and frame.payload]
    if frames:
        frame = dice.pick(frames)
        at = dice.below(len(frame.payload))
        frame.payload = frame.payload[:at] + dice.bytes(1) + frame.payload[at + 1:]


def drop_data(dice: Dice, draft: Draft) -> None:
    """A body that is too short for its length, or for its coding."""
    places = [at for at, frame in enumerate(draft.frames) if frame.type == DATA and not frame.flags & END_STREAM]
    if places:
        del draft.frames[dice.pick(places)]


STRUCTURE = [(6, odd_field), (3, status), (2, fields), (3, trailers), (3, interim), (4, hpack_block),
             (4, payload_bytes), (3, head_bytes), (4, flags), (3, frame_type), (4, stream), (4, frame_length),
             (4, padding), (2, big_data), (3, remove), (3, repeat), (2, swap), (14, foreign_frame), (3, truncate),
             (2, extra_bytes), (3, corrupt_body), (2, drop_data)]


def mutate(dice: Dice, draft: Draft) -> list[str]:
    """The names of what was done to the draft. One in fifteen is left as it is."""
    names = []
    if dice.chance(1 / 15):
        return names
    for _ in range(dice.weighted([(7, 1), (2, 2), (1, 3)])):
        mutation = dice.weighted(STRUCTURE)
        mutation(dice, draft)
        names.append(mutation.__name__)
    return names
