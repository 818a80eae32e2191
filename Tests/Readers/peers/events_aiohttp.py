# SPDX-License-Identifier: Apache-2.0
"""Events, read by aiohttp-sse-client."""
import asyncio
import types

import frames
from aiohttp_sse_client import client


def _ended(*_):
    raise EOFError


# At the end of the stream it would wait, and connect again.
client.asyncio = types.SimpleNamespace(sleep=_ended)


async def _lines(data):
    # As aiohttp's reader cuts them.
    lines = data.split(b"\n")
    for line in [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else []):
        yield line


async def _events(data):
    source = client.EventSource("http://a/", session=object())
    source._response = types.SimpleNamespace(status=200, content=_lines(data))
    events = []
    try:
        async for event in source:
            events.append([frames.utf8(event.type or "message"), frames.utf8(event.data), frames.utf8(event.last_event_id)])
    except EOFError:
        pass
    return events


def read(_, data):
    return {"events": LOOP.run_until_complete(_events(data))}


if __name__ == "__main__":
    LOOP = asyncio.new_event_loop()
    frames.run(read)
