# SPDX-License-Identifier: Apache-2.0
"""The servers of all runs: HTTP/1.1 in the clear, and over TLS HTTP/1.1, HTTP/2, WebSocket and Gemini. They count requests."""
import base64
import hashlib
import http.server
import struct

import h2.config
import h2.connection
import h2.events

from .answers import answer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return "Mon, 02 Nov 2026 11:00:00 GMT"

    def send(self, status, fields, body):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def respond(self):
        fields = {name.lower(): value for name, value in self.headers.items()}
        if fields.get("upgrade") == "websocket":
            return self.echo_messages(fields["sec-websocket-key"])
        body = self.rfile.read(int(fields.get("content-length", 0)))
        while fields.get("transfer-encoding") and (size := int(self.rfile.readline(), 16)):
            body += self.rfile.read(size + 2)[:size]
        if fields.get("transfer-encoding"):
            self.rfile.readline()
        self.send(*answer(self.command, self.path, fields, body))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = respond

    def echo_messages(self, key):
        accept = base64.b64encode(hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
        self.send_response(101)
        for name, value in {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        while head := self.rfile.read(2):
            size = head[1] & 127
            size = struct.unpack(">H", self.rfile.read(2))[0] if size == 126 else size
            mask, data = self.rfile.read(4), self.rfile.read(size)
            data = bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))
            kind = {9: 10}.get(head[0] & 15, head[0] & 15)
            self.wfile.write(bytes([0x80 | kind]) + (bytes([size]) if size < 126 else struct.pack(">BH", 126, size)) + data)
            if kind == 8:
                return


def serve_http2(connection):
    state = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
    state.initiate_connection()
    requests, waiting = {}, {}
    connection.sendall(state.data_to_send())
    while data := connection.recv(65536):
        for event in state.receive_data(data):
            match event:
                case h2.events.RequestReceived():
                    requests[event.stream_id] = (dict(event.headers), bytearray())
                case h2.events.DataReceived():
                    requests[event.stream_id][1].extend(event.data)
                    state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                case h2.events.StreamReset():
                    waiting.pop(event.stream_id, None)
                case h2.events.StreamEnded():
                    fields, body = requests.pop(event.stream_id)
                    status, more, text = answer(fields[":method"], fields[":path"], fields, bytes(body))
                    pairs = [(":status", str(status))] + [(name.lower(), value) for name, value in more.items()]
                    state.send_headers(event.stream_id, pairs)
                    waiting[event.stream_id] = text
        for stream, text in list(waiting.items()):
            while text and (size := min(state.local_flow_control_window(stream), state.max_outbound_frame_size)) > 0:
                state.send_data(stream, text[:size])
                text = text[size:]
            waiting[stream] = text
            if not text:
                state.end_stream(stream)
                del waiting[stream]
        connection.sendall(state.data_to_send())
