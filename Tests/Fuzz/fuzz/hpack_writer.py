# SPDX-License-Identifier: Apache-2.0
"""Header blocks (RFC 7541), each field in a form of its own."""
from __future__ import annotations

from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

from .dice import Dice

INDEXED_STATUS = {200: 8, 204: 9, 206: 10, 304: 11, 400: 12, 404: 13, 500: 14}
STATIC_NAMES = {
    b":status": 8,
    b"content-type": 31,
    b"content-length": 28,
    b"content-encoding": 26,
    b"server": 54,
    b"location": 46,
    b"set-cookie": 55,
    b"date": 33,
    b"etag": 34,
    b"vary": 59,
    b"cache-control": 24
}
_huffman = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)


def integer(value: int, bits: int, first: int) -> bytes:
    top = (1 << bits) - 1
    if value < top:
        return bytes([first | value])
    result, value = [first | top], value - top
    while value >= 128:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes(result + [value])


def string(text: bytes, huffman: bool) -> bytes:
    if huffman:
        text = _huffman.encode(text)
    return integer(len(text), 7, 0x80 if huffman else 0) + text


def plain_field(name: bytes, value: bytes) -> bytes:
    """Not indexed: leaves no trace in the dynamic table."""
    return b"\x00" + string(name, False) + string(value, False)


def plain_block(fields: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(plain_field(name, value) for name, value in fields)


def block(dice: Dice, fields: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(_field(dice, name, value) for name, value in fields)


def _field(dice: Dice, name: bytes, value: bytes) -> bytes:
    huffman = dice.chance(0.5)
    if name == b":status" and value.isdigit() and int(value) in INDEXED_STATUS and dice.chance(0.7):
        return integer(INDEXED_STATUS[int(value)], 7, 0x80)
    first, bits = dice.pick([(0x40, 6), (0x00, 4), (0x10, 4)])
    index = STATIC_NAMES.get(name) if dice.chance(0.6) else None
    if index:
        return integer(index, bits, first) + string(value, huffman)
    return bytes([first]) + string(name, dice.chance(0.5)) + string(value, huffman)
