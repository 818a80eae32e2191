# SPDX-License-Identifier: Apache-2.0
"""Events, read by requests-sse."""
import io
import types

import frames
import requests
import requests_sse.client


def _ended(*_):
    raise EOFError


# At the end of the stream it would wait, and connect again.
requests_sse.client.time = types.SimpleNamespace(sleep=_ended)


def read(_, data):
    response = requests.Response()
    response.raw, response.status_code = io.BytesIO(data), 200
    source = requests_sse.client.EventSource("http://a/")
    source._response, source._data_generator = response, response.iter_lines(chunk_size=1 << 20)
    events = []
    try:
        for event in source:
            events.append([frames.utf8(event.type), frames.utf8(event.data), frames.utf8(event.last_event_id)])
    except EOFError:
        pass
    return {"events": events}


if __name__ == "__main__":
    frames.run(read)
