# SPDX-License-Identifier: Apache-2.0
"""Mutations that know nothing of what the bytes mean."""
from __future__ import annotations

from .dice import Dice

TELLING = [
    b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\n\n", b"\x00", b" ", b"\t", b":", b";", b",", b"\x7f", b"\x80", b"\xff",
    b"\r\n ", b"\r\n\t", b"0", b"-", b"+", b"\x0b", b"\x0c", b"HTTP/1.1 200 OK\r\n", b"\x85", b"chunked", b"a" * 300
]


def flip_bit(dice: Dice, data: bytes) -> bytes:
    if not data:
        return data
    at = _position(dice, len(data))
    return data[:at] + bytes([data[at] ^ 1 << dice.below(8)]) + data[at + 1:]


def set_byte(dice: Dice, data: bytes) -> bytes:
    if not data:
        return data
    at = _position(dice, len(data))
    return data[:at] + dice.bytes(1) + data[at + 1:]


def insert_telling(dice: Dice, data: bytes) -> bytes:
    at = _position(dice, len(data) + 1)
    return data[:at] + dice.pick(TELLING) + data[at:]


def delete_range(dice: Dice, data: bytes) -> bytes:
    if not data:
        return data
    at = _position(dice, len(data))
    return data[:at] + data[at + dice.between(1, 8):]


def repeat_range(dice: Dice, data: bytes) -> bytes:
    if not data:
        return data
    at = _position(dice, len(data))
    piece = data[at:at + dice.between(1, 40)]
    return data[:at] + piece + data[at:]


def truncate(dice: Dice, data: bytes) -> bytes:
    return data[:_position(dice, len(data) + 1)]


def replace_line_end(dice: Dice, data: bytes) -> bytes:
    places = [at for at in range(len(data) - 1) if data[at:at + 2] == b"\r\n"]
    if not places:
        return data
    at = places[min(_position(dice, len(places)), len(places) - 1)]
    return data[:at] + dice.pick([b"\n", b"\r", b"\n\r", b"\r\r\n", b"", b"\r\n\r\n", b"\r\n ", b" \r\n"
                                  ]) + data[at + 2:]


def _position(dice: Dice, count: int) -> int:
    """Rather near the beginning, where the head is."""
    return dice.below(min(count, 300)) if dice.chance(0.6) else dice.below(count)


ALL = [(3, flip_bit), (3, set_byte), (6, insert_telling), (3, delete_range), (3, repeat_range), (4, truncate),
       (5, replace_line_end)]
