# SPDX-License-Identifier: Apache-2.0
"""The second reader of HTTP/2: hyper's h2 with hpack, and zlib for the body's coding."""
from __future__ import annotations

import struct

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.exceptions import H2Error, ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.exceptions import HyperframeError

from . import hpack_writer
from .conclusion import BROKEN_BODY, BROKEN_HEAD, UNFINISHED, WHOLE, Conclusion
from .h2_draft import END_HEADERS, END_STREAM, GOAWAY, HEADERS, SETTINGS, Frame, connection_frame
from .undo_coding import undo_coding

STREAM = 3
"""Of the request, in the reader's connection: another one came before it."""
CLIENT_SETTINGS = {SettingCodes.ENABLE_PUSH: 0, SettingCodes.INITIAL_WINDOW_SIZE: 1 << 25,
                   SettingCodes.MAX_CONCURRENT_STREAMS: 100, SettingCodes.MAX_HEADER_LIST_SIZE: 1 << 20}


def split(answer: bytes) -> list[bytes]:
    """One piece for each frame; the last may be short."""
    pieces = []
    while answer:
        length = 9 + int.from_bytes(answer[:3], "big") if len(answer) >= 9 else len(answer)
        pieces.append(answer[:length])
        answer = answer[length:]
    return pieces


class Reader:
    def __init__(self, method: str, max_body: int):
        self.result = Conclusion(UNFINISHED)
        self.max_body = max_body
        self.method = method
        self.wire: list[bytes] = []
        self.violation: str | None = None
        """What the connection cannot go on after, when that came behind the end of the answer."""
        self.reusable = True
        self._connection = self._open(method)

    def _open(self, method: str) -> H2Connection:
        connection = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        connection.local_settings = Settings(client=True, initial_values=CLIENT_SETTINGS)
        connection.max_inbound_frame_size = 16_384
        connection.decoder.max_header_list_size = 1 << 20
        connection.initiate_connection()
        connection.increment_flow_control_window(1 << 24)
        connection.receive_data(connection_frame(SETTINGS, 0, b"").render(0) + connection_frame(SETTINGS, 1, b"").render(0))
        connection.send_headers(1, _request("GET"), end_stream=True)
        head = hpack_writer.plain_block([(b":status", b"200")])
        connection.receive_data(Frame(HEADERS, END_HEADERS | END_STREAM, head).render(1))
        connection.send_headers(STREAM, _request(method), end_stream=True)
        return connection

    def read(self, answer: bytes) -> None:
        for piece in split(answer):
            whole = len(piece) >= 9 and len(piece) == 9 + int.from_bytes(piece[:3], "big")
            self.reusable = self.reusable and whole
            try:
                if not (whole and self._takes_goaway(piece)):
                    self._take(self._connection.receive_data(piece))
            except (H2Error, HyperframeError, ValueError) as error:
                # ValueError: what h2 4.3 lets through of a bad number in a header block.
                self._broken(f"{type(error).__name__}: {error}")
                return
            if self.result.kind in (BROKEN_HEAD, BROKEN_BODY):
                return

    def _takes_goaway(self, piece: bytes) -> bool:
        """h2 gives up all streams at GOAWAY; RFC 9113 6.8 only those above its last one."""
        if piece[3] != GOAWAY or len(piece) < 17 or int.from_bytes(piece[5:9], "big") & 0x7FFFFFFF:
            return False
        last, code = struct.unpack(">II", piece[9:17])
        self.reusable = False
        self.result.points.add("GOAWAY" if last & 0x7FFFFFFF >= STREAM else "GOAWAY below the stream")
        if self.result.kind == UNFINISHED and last & 0x7FFFFFFF < STREAM:
            self._broken(f"GOAWAY says that the stream was not processed, error {code}")
        return True

    def _broken(self, reason: str) -> None:
        self.reusable = False
        if self.result.kind == UNFINISHED:
            self.result.kind = BROKEN_HEAD if self.result.status is None else BROKEN_BODY
            self.result.reason = reason
        elif self.violation is None:
            self.violation = reason
            self.result.points.add("violation behind the end")

    def _take(self, happened: list[events.Event]) -> None:
        for event in happened:
            if getattr(event, "stream_id", STREAM) != STREAM:
                continue
            if isinstance(event, events.InformationalResponseReceived):
                if _status(event.headers) == 101:
                    self._broken("101 does not exist in HTTP/2")
            elif isinstance(event, events.ResponseReceived):
                self._take_head(event.headers)
            elif isinstance(event, events.DataReceived):
                self.wire.append(event.data)
            elif isinstance(event, events.StreamEnded) and self.result.kind == UNFINISHED:
                self.result.kind = WHOLE
            elif isinstance(event, events.StreamReset) and self.result.kind == UNFINISHED:
                self._take_reset(event)

    def _take_reset(self, event: events.StreamReset) -> None:
        if event.remote_reset:
            self.result.points.add("reset by the server" if event.error_code else "reset without an error")
        reusable = self.reusable
        self._broken(f"the stream was reset, error {int(event.error_code)}")
        self.reusable = reusable

    def _take_head(self, headers: list[tuple[bytes, bytes]]) -> None:
        self.result.fields = [(bytes(name), bytes(value)) for name, value in headers]
        self.result.status = _status(headers)
        length = self.result.values(b"content-length")
        has_body = self.method != "HEAD" and self.result.status not in (204, 304)
        if has_body and length and length[0].isdigit() and int(length[0]) > self.max_body:
            self._broken(f"the announced length exceeds the limit of {self.max_body} bytes")

    def finish(self, ends: bool) -> Conclusion:
        result = self.result
        if result.kind == UNFINISHED and ends:
            result.kind = BROKEN_HEAD if result.status is None else BROKEN_BODY
            result.reason = "the connection ended within the answer"
            result.points.add("connection ended")
        result.wire = b"".join(self.wire)
        return undo_coding(result, self.max_body)


def _request(method: str) -> list[tuple[str, str]]:
    return [(":method", method), (":scheme", "https"), (":authority", "x"), (":path", "/")]


def _status(headers: list[tuple[bytes, bytes]]) -> int:
    value = next(bytes(value) for name, value in headers if bytes(name) == b":status")
    if len(value) != 3 or not value.isdigit():
        raise ProtocolError(f":status is {value!r}")
    return int(value)


def read(answer: bytes, method: str, ends: bool, max_body: int) -> tuple[Conclusion, bool]:
    """What to conclude, and whether the connection can be used after it."""
    reader = Reader(method, max_body)
    reader.read(answer)
    conclusion = reader.finish(ends)
    return conclusion, reader.reusable and conclusion.kind == WHOLE
