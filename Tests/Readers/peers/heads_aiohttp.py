# SPDX-License-Identifier: Apache-2.0
"""Responses, read by aiohttp's llhttp."""
import asyncio

import frames
from aiohttp import http_exceptions, streams
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpResponseParser

LOOP = asyncio.new_event_loop()


class _Protocol(BaseProtocol):
    """One that never pauses."""

    def pause_reading(self):
        pass

    def resume_reading(self, resume_parser=True):
        pass


def read(method, data):
    """Byte by byte: only so it shows where the response ends."""
    protocol = _Protocol(loop=LOOP)
    parser = HttpResponseParser(protocol, LOOP, 1 << 20, max_line_size=1 << 18, max_field_size=1 << 18, max_headers=501,
                                response_with_body=method != "HEAD", read_until_eof=True, auto_decompress=False)
    at = message = payload = None
    at = 0
    while at < len(data):
        messages, upgraded, tail = parser.feed_data(data[at:at + 1])
        at += 1
        if messages:
            message, payload = messages[0]
            # As its client: other 1xx are interim.
            if not 100 <= message.code < 200 or message.code == 101:
                if upgraded:
                    at -= len(tail)
                    break
            else:
                message = None
        if message and payload.is_eof():
            break
    if message is None:
        raise EOFError("incomplete")
    if not payload.is_eof():
        parser.feed_eof()
    if payload.exception():
        raise payload.exception()
    body = payload.read_nowait(-1) if payload is not streams.EMPTY_PAYLOAD else b""
    version = f"{message.version.major}.{message.version.minor}"
    return frames.head(version, message.code, message.reason, message.raw_headers, body, None,
                       len(data) - at, not message.should_close)


if __name__ == "__main__":
    frames.run(read)
