# SPDX-License-Identifier: Apache-2.0
"""Multipart messages, read by python-multipart."""
import frames
from python_multipart.multipart import MultipartParser


class _Parts:

    def __init__(self):
        self.parts, self.name, self.value, self.ended = [], b"", b"", False

    def on_part_begin(self):
        self.parts.append(([], bytearray()))

    def on_header_field(self, data, start, end):
        self.name += data[start:end]

    def on_header_value(self, data, start, end):
        self.value += data[start:end]

    def on_header_end(self):
        self.parts[-1][0].append((self.name, self.value))
        self.name = self.value = b""

    def on_part_data(self, data, start, end):
        self.parts[-1][1].extend(data[start:end])

    def on_end(self):
        self.ended = True


def read(boundary, data):
    parts = _Parts()
    callbacks = {name: getattr(parts, name) for name in dir(parts) if name.startswith("on_")}
    parser = MultipartParser(boundary.encode("latin-1"), callbacks)
    parser.write(data)
    parser.finalize()
    if not parts.ended:
        raise EOFError("incomplete")
    return {"parts": [[frames.fields(pairs), bytes(body).decode("latin-1")] for pairs, body in parts.parts]}


if __name__ == "__main__":
    frames.run(read)
