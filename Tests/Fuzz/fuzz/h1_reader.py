# SPDX-License-Identifier: Apache-2.0
"""The second reader of HTTP/1.1: h11, and zlib for the body's coding."""
from __future__ import annotations

import h11

from . import h1_points
from .conclusion import BROKEN_BODY, BROKEN_HEAD, UNFINISHED, WHOLE, Conclusion
from .undo_coding import undo_coding

CLEAN, CUT, RESET, KEPT = "closed", "cut", "reset", "kept"
"""How the server ends: the connection in due form, without TLS's close_notify, with RST, or not at all."""


def read(answer: bytes, method: str, ending: str, encrypted: bool, max_body: int) -> Conclusion:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "x")]))
    connection.send(h11.EndOfMessage())
    result = Conclusion(UNFINISHED)
    wire = []
    try:
        readable = h1_points.without_ignored_fields(answer, method)
        connection.receive_data(h1_points.without_space_before_extensions(readable))
        ended = False
        while True:
            event = connection.next_event()
            if isinstance(event, h11.InformationalResponse):
                _interim(event)
            elif isinstance(event, h11.Response):
                _response(event, result)
                if result.is_success and not result.is_coded and _length(
                        result) > max_body and method != "HEAD" and result.status not in (204, 304):
                    raise h11.RemoteProtocolError(f"the announced length exceeds the limit of {max_body} bytes")
            elif isinstance(event, h11.Data):
                wire.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                _whole(result, connection, answer, encrypted, ending if ended else None)
                break
            elif event is h11.NEED_DATA and ending != KEPT and not ended:
                ended = True
                connection.receive_data(b"")
            elif event is h11.NEED_DATA:
                break
            else:
                raise h11.RemoteProtocolError("the connection ended before the answer")
    except (h11.RemoteProtocolError, h11.LocalProtocolError) as error:
        result.kind, result.reason = BROKEN_HEAD if result.status is None else BROKEN_BODY, str(error)
    result.wire = b"".join(wire)
    return undo_coding(result, max_body)


def _interim(event: h11.InformationalResponse) -> None:
    if event.status_code == 101:
        raise h11.RemoteProtocolError("101 was not asked for")


def _response(event: h11.Response, result: Conclusion) -> None:
    result.status = event.status_code
    result.fields = [(bytes(name), bytes(value)) for name, value in event.headers.raw_items()]


def _length(result: Conclusion) -> int:
    values = result.values(b"content-length")
    return int(values[0]) if values and values[0].isdigit() else 0


def _whole(result: Conclusion, connection: h11.Connection, answer: bytes, encrypted: bool, ended: str | None) -> None:
    result.kind = WHOLE
    if ended == RESET or ended == CUT and encrypted:
        result.kind, result.reason = BROKEN_BODY, "a body that the connection ends was cut off"
