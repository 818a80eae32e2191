# SPDX-License-Identifier: Apache-2.0
"""The second reader of HTTP/2: hyper's h2 with hpack, and zlib for the body's coding."""
from __future__ import annotations

import re
import struct

import hpack.hpack
from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.exceptions import H2Error, ProtocolError
from h2.settings import SettingCodes, Settings
from hpack.exceptions import HPACKDecodingError
from hyperframe.exceptions import HyperframeError

from . import hpack_writer
from .conclusion import BROKEN_BODY, BROKEN_HEAD, UNFINISHED, WHOLE, Conclusion
from .h2_draft import (ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PRIORITIZED, PRIORITY,
                       PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, Frame, connection_frame)
from .undo_coding import undo_coding

STREAM = 3
"""Of the request, where one came before it; 5 behind a redirect."""
CLIENT_SETTINGS = {
    SettingCodes.ENABLE_PUSH: 0,
    SettingCodes.INITIAL_WINDOW_SIZE: 1 << 25,
    SettingCodes.MAX_CONCURRENT_STREAMS: 100,
    SettingCodes.MAX_HEADER_LIST_SIZE: 1 << 20
}

EXTENSION = 0x42
"""Stands for every type of frame that RFC 9113 does not have."""
MOST_INTERIM = 32
MOST_SETTINGS = 32
MOST_BYTES = 16_384
"""In a frame."""
TOKEN = re.compile(rb"[0-9a-z!#$%&'*+.^_`|~-]+")
_lenient_huffman = hpack.hpack.decode_huffman


def _strict_huffman(data: bytes) -> bytes:
    """RFC 7541 5.2: padding is under eight bits, all ones, and no code is EOS. hpack lets other padding pass."""
    text = _lenient_huffman(data)
    if data and hpack_writer.string(text, True)[-len(data):] != data:
        raise HPACKDecodingError("a Huffman code that no encoder writes")
    return text


hpack.hpack.decode_huffman = _strict_huffman


def split(answer: bytes) -> list[bytes]:
    """One piece for each frame; the last may be short."""
    pieces = []
    while answer:
        length = 9 + int.from_bytes(answer[:3], "big") if len(answer) >= 9 else len(answer)
        pieces.append(answer[:length])
        answer = answer[length:]
    return pieces


def _without_what_is_ignored(piece: bytes) -> bytes:
    """The frame without what RFC 9113 has ignored, and h2 or hyperframe look at: extensions, reserved bits, priorities."""
    if len(piece) < 9:
        return piece
    type, flags, payload = piece[3], piece[4], piece[9:]
    if type > CONTINUATION:
        return piece[:3] + bytes([EXTENSION]) + piece[4:]
    if type == HEADERS and flags & PADDED and not flags & PRIORITIZED and _is_padding(piece):
        return bytes(3) + bytes([type, flags & ~PADDED]) + piece[5:9]
    if type == WINDOW_UPDATE and len(payload) == 4:
        payload = bytes([payload[0] & 0x7F]) + payload[1:]
    elif type == PRIORITY and len(payload) == 5:
        payload = bytes(5)
    elif type == HEADERS and flags & PRIORITIZED:
        start = 1 if flags & PADDED else 0
        if len(payload) >= start + 5:
            payload = payload[:start] + bytes(5) + payload[start + 5:]
    return piece[:9] + payload


def _is_wrong_priority(piece: bytes) -> bool:
    """Whether a PRIORITY frame breaks RFC 9113 6.3: for no stream, or of another size."""
    return piece[3] == PRIORITY and (len(piece) != 14 or not int.from_bytes(piece[5:9], "big") & 0x7FFFFFFF)


def _is_padding(piece: bytes) -> bool:
    """Whether a whole padded frame has nothing but padding, which RFC 9113 6.2 allows around an empty field block."""
    size = len(piece) - 9
    return size == int.from_bytes(piece[:3], "big") and size > 1 and piece[9] == size - 1


def _dependency(piece: bytes) -> int | None:
    """The stream that a PRIORITY or HEADERS frame makes its own depend on."""
    at = 9 + (1 if piece[3] == HEADERS and piece[4] & PADDED else 0)
    if len(piece) < at + 5 or piece[3] != PRIORITY and not (piece[3] == HEADERS and piece[4] & PRIORITIZED):
        return None
    return int.from_bytes(piece[at:at + 4], "big") & 0x7FFFFFFF


def _is_read_before_its_end(piece: bytes, stream: int) -> bool:
    """Whether nghttp2 may find fault with what h2 waits for the rest of: half a frame, or half a header block."""
    if len(piece) < 9:
        return False
    if len(piece) < 9 + int.from_bytes(piece[:3], "big"):
        return piece[3] != DATA or int.from_bytes(piece[5:9], "big") != stream or bool(piece[4] & PADDED)
    return _leaves_open(piece)


def _leaves_open(piece: bytes) -> bool:
    """Whether a header block goes on behind a frame."""
    return len(piece) >= 9 and piece[3] in (HEADERS, PUSH_PROMISE, CONTINUATION) and not piece[4] & END_HEADERS


class Reader:
    def __init__(self,
                 method: str,
                 max_body: int,
                 stream: int,
                 validates: bool = True,
                 ignores_goaway: bool = False,
                 own_only: bool = False,
                 skips_priority: bool = False):
        self.result = Conclusion(UNFINISHED)
        self.max_body = max_body
        self.method = method
        self.stream = stream
        self.own_only = own_only
        self.skips_priority = skips_priority
        self.validates = validates
        self.ignores_goaway = ignores_goaway
        self.last_piece = b""
        self.wire: list[bytes] = []
        self.heard: list[bytes] = []
        self.interim = 0
        self.violation: str | None = None
        """What the connection cannot go on after, when that came behind the end of the answer."""
        self.reusable = True
        self._connection = self._open(method)

    def _open(self, method: str) -> H2Connection:
        # Normalized, Cookie fields would move behind a pseudo-header field that they must not precede.
        connection = H2Connection(
            H2Configuration(client_side=True, header_encoding=None, validate_inbound_headers=self.validates,
                            normalize_inbound_headers=False))
        connection.local_settings = Settings(client=True, initial_values=CLIENT_SETTINGS)
        connection.max_inbound_frame_size = MOST_BYTES
        connection.decoder.max_header_list_size = 1 << 20
        connection.initiate_connection()
        connection.increment_flow_control_window(1 << 24)
        connection.receive_data(
            connection_frame(SETTINGS, 0, b"").render(0) + connection_frame(SETTINGS, 1, b"").render(0))
        head = hpack_writer.plain_block([(b":status", b"200")])
        for stream in range(1, self.stream, 2):
            connection.send_headers(stream, _request("GET"), end_stream=True)
            connection.receive_data(Frame(HEADERS, END_HEADERS | END_STREAM, head).render(stream))
        connection.send_headers(self.stream, _request(method), end_stream=True)
        return connection

    def read(self, answer: bytes) -> None:
        for piece in split(answer):
            whole = len(piece) >= 9 and len(piece) == 9 + int.from_bytes(piece[:3], "big")
            self.reusable = self.reusable and whole
            previous, self.last_piece = self.last_piece, piece
            if self._is_foreign(piece):
                self.result.points.add("frame of another stream")
                if self.own_only:
                    continue
            if whole and _is_wrong_priority(piece):
                self.result.points.add("PRIORITY out of form")
                if self.skips_priority:
                    continue
            try:
                if len(piece) >= 9 and int.from_bytes(piece[:3], "big") > MOST_BYTES:
                    raise ProtocolError("a frame is longer than SETTINGS_MAX_FRAME_SIZE")
                self._hear(piece)
                if whole:
                    self._check(piece, previous)
                piece = _without_what_is_ignored(piece)
                if not (whole and self._takes_goaway(piece)):
                    self._take(self._connection.receive_data(piece))
            except (H2Error, HyperframeError, ValueError) as error:
                # ValueError: what h2 4.3 lets through of a bad number in a header block.
                self._broken(f"{type(error).__name__}: {error}")
                return
            if self.result.kind in (BROKEN_HEAD, BROKEN_BODY):
                return

    def _is_foreign(self, piece: bytes) -> bool:
        number = int.from_bytes(piece[5:9], "big") & 0x7FFFFFFF
        return len(piece) >= 9 and number not in (0, self.stream)

    def _hear(self, piece: bytes) -> None:
        if len(piece) > 9 and piece[3] == DATA and int.from_bytes(piece[5:9], "big") & 0x7FFFFFFF == self.stream:
            payload = piece[9:]
            if piece[4] & PADDED:
                length = int.from_bytes(piece[:3], "big")
                payload = payload[1:max(1, length - payload[0])]
            self.heard.append(payload)

    def _check(self, piece: bytes, previous: bytes) -> None:
        """What h2 overlooks, or is not shown."""
        stream = int.from_bytes(piece[5:9], "big") & 0x7FFFFFFF
        if piece[3] == GOAWAY and _leaves_open(previous):
            raise ProtocolError("GOAWAY within a header block")
        if piece[3] == HEADERS and piece[4] & PADDED and piece[4] & PRIORITIZED and len(piece) > 15:
            if piece[9] > len(piece) - 15:
                raise ProtocolError("the padding exceeds what follows the priority (RFC 9113 6.2)")
        if _dependency(piece) == stream:
            self.result.points.add("stream that depends on itself")
            self.reusable = False
        if piece[3] == RST_STREAM and (stream > self.stream or stream and stream % 2 == 0):
            raise ProtocolError("RST_STREAM for an idle stream")
        if piece[3] == SETTINGS and piece[4] & ACK:
            self.result.points.add("acknowledgement that no sender waits for")
            self.reusable = False
        if piece[3] == SETTINGS and not piece[4] & ACK:
            if len(piece) > 9 + 6 * MOST_SETTINGS:
                self.result.points.add("many settings")
            for at in range(9, len(piece) - 5, 6):
                if piece[at:at + 2] == b"\x00\x09" and int.from_bytes(piece[at + 2:at + 6], "big") > 0:
                    raise ProtocolError("SETTINGS_NO_RFC7540_PRIORITIES changes (RFC 9218 2.1)")
                if piece[at:at + 2] == b"\x00\x02" and any(piece[at + 2:at + 6]):
                    raise ProtocolError("SETTINGS_ENABLE_PUSH of a server is not 0")
                if piece[at:at + 6] == b"\x00\x03" + bytes(4):
                    # No stream may be opened any more: that is for a short time (RFC 9113 5.1.2), then comes the end.
                    self.reusable = False

    def _takes_goaway(self, piece: bytes) -> bool:
        """h2 gives up all streams at GOAWAY; RFC 9113 6.8 only those above its last one."""
        if piece[3] != GOAWAY or len(piece) < 17 or int.from_bytes(piece[5:9], "big") & 0x7FFFFFFF:
            return False
        last, code = struct.unpack(">II", piece[9:17])
        self.reusable = False
        if last & 0x7FFFFFFF < self.stream:
            self.result.points.add("GOAWAY below the stream")
        if self.result.kind == UNFINISHED and last & 0x7FFFFFFF < self.stream and not self.ignores_goaway:
            self._broken(f"GOAWAY says that the stream was not processed, error {code}")
        return True

    def _broken(self, reason: str) -> None:
        self.reusable = False
        if self.result.kind == UNFINISHED:
            self.result.kind = BROKEN_HEAD if self.result.status is None else BROKEN_BODY
            self.result.reason = reason
            self.result.points.add("HTTP/2 broken")
        elif self.violation is None:
            self.violation = reason
            self.result.points.add("violation behind the end")

    def _take(self, happened: list[events.Event]) -> None:
        for event in happened:
            if getattr(event, "stream_id", self.stream) != self.stream:
                continue
            if isinstance(event, events.InformationalResponseReceived):
                self._take_interim(event.headers)
            elif isinstance(event, events.ResponseReceived):
                self._take_head(event.headers)
            elif isinstance(event, events.DataReceived):
                self.wire.append(event.data)
            elif isinstance(event, events.TrailersReceived):
                self._note_fields(event.headers)
            elif isinstance(event, events.StreamEnded) and self.result.kind == UNFINISHED:
                self._end()
            elif isinstance(event, events.StreamReset) and self.result.kind == UNFINISHED:
                self._take_reset(event)

    def _end(self) -> None:
        length, received = self.result.values(b"content-length"), sum(map(len, self.wire))
        if self._has_body() and length and int(length[0]) != received:
            return self._broken(f"content-length is {int(length[0])}, and {received} bytes came")
        if not self._has_body() and received:
            return self._broken("a body where there is none")
        self.result.kind = WHOLE

    def _has_body(self) -> bool:
        return self.method != "HEAD" and self.result.status not in (204, 304)

    def _note_fields(self, headers: list[tuple[bytes, bytes]]) -> None:
        for name, value in headers:
            if any(byte < 0x20 and byte != 9 or byte == 0x7F for byte in bytes(value)):
                self.result.points.add("control character")
            if not TOKEN.fullmatch(bytes(name)) and not bytes(name).startswith(b":"):
                self.result.points.add("name that is no token")
            if bytes(name) == b"content-length" and self.result.status is not None:
                self.result.points.add("length in trailers")

    def _take_interim(self, headers: list[tuple[bytes, bytes]]) -> None:
        self._note_fields(headers)
        self.interim += 1
        if _status(headers) == 101:
            self._broken("101 does not exist in HTTP/2")
        if any(bytes(name) == b"content-length" for name, _ in headers):
            self.result.points.add("length of an interim response")
        if self.interim > MOST_INTERIM:
            self.result.points.add("many interim responses")

    def _take_reset(self, event: events.StreamReset) -> None:
        reusable = self.reusable
        self._broken(f"the stream was reset, error {int(event.error_code)}")
        self.reusable = reusable

    def _take_head(self, headers: list[tuple[bytes, bytes]]) -> None:
        self._note_fields(headers)
        self.result.fields = [(bytes(name), bytes(value)) for name, value in headers
                              if self.validates or _is_legal(bytes(name), bytes(value))]
        if len(headers) > 500:
            self.result.points.add("many fields")
        status = _status(headers)
        length = self.result.values(b"content-length")
        if any(not value.isdigit() or int(value) > 0x7FFFFFFFFFFFFFFF for value in length):
            return self._broken(f"content-length is {length}")
        self.result.status = status
        if status == 204 and length:
            self.result.points.add("length of no content")
        if len(length) > 1:
            self.result.points.add("length repeated")
        if self._has_body() and self.result.is_success and not self.result.is_coded and length and int(
                length[0]) > self.max_body:
            self._broken(f"the announced length exceeds the limit of {self.max_body} bytes")

    def finish(self, ends: bool) -> Conclusion:
        result = self.result
        if result.kind == UNFINISHED and ends:
            result.kind = BROKEN_HEAD if result.status is None else BROKEN_BODY
            result.reason = "the connection ended within the answer"
            if not self._has_body() and self.heard:
                result.points.add("HTTP/2 broken")
            if _is_read_before_its_end(self.last_piece, self.stream):
                result.points.add("HTTP/2 broken")
        result.wire, result.heard = b"".join(self.wire), b"".join(self.heard)
        length = result.values(b"content-length")
        announced = int(length[0]) if len(length) == 1 and length[0].isdigit() else None
        if announced is not None and announced < len(result.heard):
            result.points.add("longer than its length")
        return undo_coding(result, self.max_body)


def _request(method: str) -> list[tuple[str, str]]:
    return [(":method", method), (":scheme", "https"), (":authority", "x"), (":path", "/")]


def _is_legal(name: bytes, value: bytes) -> bool:
    return name.startswith(b":") or bool(TOKEN.fullmatch(name)) and not any(byte < 0x20 and byte != 9 or byte == 0x7F
                                                                            for byte in value)


def _status(headers: list[tuple[bytes, bytes]]) -> int:
    value = next((bytes(value) for name, value in headers if bytes(name) == b":status"), b"missing")
    if len(value) != 3 or not value.isdigit() or value < b"100":
        raise ProtocolError(f":status is {value!r}")
    return int(value)


def read(answer: bytes, method: str, ends: bool, max_body: int, stream: int = STREAM) -> tuple[Conclusion, bool]:
    """What to conclude, and whether the connection can be used after it."""
    reader = Reader(method, max_body, stream)
    reader.read(answer)
    conclusion = reader.finish(ends)
    lenient = _lenient_reader(conclusion, method, max_body, stream)
    if lenient:
        lenient.read(answer)
        conclusion.otherwise = lenient.finish(ends)
    # Where the two may differ, nghttp2 may have given the connection up.
    return conclusion, reader.reusable and conclusion.kind == WHOLE and not conclusion.points


def _lenient_reader(conclusion: Conclusion, method: str, max_body: int, stream: int) -> Reader | None:
    if "GOAWAY below the stream" in conclusion.points:
        return Reader(method, max_body, stream, ignores_goaway=True)
    if conclusion.kind != WHOLE and "PRIORITY out of form" in conclusion.points:
        return Reader(method, max_body, stream, skips_priority=True)
    if "Illegal character" in conclusion.reason:
        conclusion.points.add("field left out")
        return Reader(method, max_body, stream, validates=False)
    if "surrounded by whitespace" in conclusion.reason:
        conclusion.points.add("space around a value")
        return Reader(method, max_body, stream, validates=False)
    if conclusion.kind != WHOLE and "frame of another stream" in conclusion.points:
        return Reader(method, max_body, stream, own_only=True)
    conclusion.points.discard("frame of another stream")
    return None
