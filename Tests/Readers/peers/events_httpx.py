# SPDX-License-Identifier: Apache-2.0
"""Events, read by httpx-sse."""
import frames
import httpx
from httpx_sse import EventSource


def read(_, data):
    response = httpx.Response(200, headers={"Content-Type": "text/event-stream; charset=utf-8"}, content=data)
    return {
        "events": [[frames.utf8(text) for text in (event.event, event.data, event.id)]
                   for event in EventSource(response).iter_sse()]
    }


if __name__ == "__main__":
    frames.run(read)
