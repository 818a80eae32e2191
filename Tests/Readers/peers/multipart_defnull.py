# SPDX-License-Identifier: Apache-2.0
"""Multipart messages, read by multipart."""
import frames
from multipart import MultipartSegment, PushMultipartParser


def read(boundary, data):
    parts = []
    with PushMultipartParser(boundary, header_charset="latin-1", max_header_size=16384, max_header_count=32) as parser:
        for event in parser.parse(data) if data else []:
            if isinstance(event, MultipartSegment):
                parts.append(
                    [frames.fields((name.encode("latin-1"), value.encode("latin-1")) for name, value in event.headerlist), ""])
            elif event:
                parts[-1][1] += bytes(event).decode("latin-1")
    return {"parts": parts}


if __name__ == "__main__":
    frames.run(read)
