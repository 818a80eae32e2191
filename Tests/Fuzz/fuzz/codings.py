# SPDX-License-Identifier: Apache-2.0
"""Content codings: how a server makes them, and what a reader must make of them."""
from __future__ import annotations

import zlib

OFFERED = ("gzip", "x-gzip", "deflate")
"""What an answer may be coded with; others were not asked for."""


class Broken(Exception):
    """The data are not what their coding says. `so_far` is what came before that was seen."""
    def __init__(self, reason: str, so_far: bytes):
        super().__init__(reason)
        self.so_far = so_far


def encode(coding: str, data: bytes, members: int = 1) -> bytes:
    if coding in ("gzip", "x-gzip"):
        size = len(data) // members + 1
        pieces = [data[start:start + size] for start in range(0, members * size, size)]
        return b"".join(_compress(piece, 31) for piece in pieces)
    if coding == "deflate":
        return _compress(data, 15)
    if coding == "raw-deflate":
        return _compress(data, -15)
    return data


def _compress(data: bytes, window: int) -> bytes:
    machine = zlib.compressobj(6, zlib.DEFLATED, window)
    return machine.compress(data) + machine.flush()


def decode(coding: str, data: bytes) -> bytes:
    """Raises `Broken`."""
    if coding in ("gzip", "x-gzip"):
        return _members(data)
    if coding == "deflate":
        try:
            return _member(data, 15, b"")[0]
        except Broken as wrapped:
            # RFC 9110 8.4.1.2: some send the data without their zlib wrapper. Where there is one, it counts.
            if _has_zlib_header(data):
                raise
            try:
                return _member(data, -15, b"")[0]
            except Broken as bare:
                raise (wrapped if len(wrapped.so_far) >= len(bare.so_far) else bare) from None
    raise Broken(f"the coding {coding!r} was not asked for", b"")


def _has_zlib_header(data: bytes) -> bool:
    return len(data) >= 2 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0


def _members(data: bytes) -> bytes:
    # RFC 1952 2.2: members concatenate.
    result = b""
    while True:
        result, data = _member(data, 31, result, ends=False)
        # Tools pad with zeros.
        if not data.strip(b"\x00"):
            return result


def _member(data: bytes, window: int, before: bytes, ends: bool = True) -> tuple[bytes, bytes]:
    machine = zlib.decompressobj(window)
    try:
        result = before + machine.decompress(data)
    except zlib.error as error:
        raise Broken(str(error), before + _before_fault(data, window)) from None
    if not machine.eof:
        raise Broken("the compressed data end early", result)
    if ends and machine.unused_data:
        raise Broken("bytes follow the compressed data", result)
    return result, machine.unused_data


def _before_fault(data: bytes, window: int) -> bytes:
    """zlib gives nothing of a piece with a fault in it, so it gets single bytes."""
    machine = zlib.decompressobj(window)
    result = b""
    try:
        for at in range(len(data)):
            result += machine.decompress(data[at:at + 1])
    except zlib.error:
        pass
    return result
