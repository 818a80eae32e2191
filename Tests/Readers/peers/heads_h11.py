# SPDX-License-Identifier: Apache-2.0
"""Responses, read by h11."""
import frames
import h11


def read(method, data):
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 18)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "a")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    ended, final, body, trailers = False, None, b"", []
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            if ended:
                raise EOFError("incomplete")
            ended = True
            connection.receive_data(b"")
        elif isinstance(event, h11.Response):
            final = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            trailers = event.headers.raw_items()
            break
        elif event in (h11.PAUSED, ) or isinstance(event, h11.ConnectionClosed):
            break
    rest = len(connection.trailing_data[0])
    return frames.head(final.http_version.decode(), final.status_code, bytes(final.reason), final.headers.raw_items(), body,
                       trailers, rest)


if __name__ == "__main__":
    frames.run(read)
