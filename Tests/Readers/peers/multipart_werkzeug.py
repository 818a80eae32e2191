# SPDX-License-Identifier: Apache-2.0
"""Multipart messages, read by werkzeug."""
import frames
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData


def read(boundary, data):
    decoder = MultipartDecoder(boundary.encode("latin-1"), max_parts=1000)
    decoder.receive_data(data)
    parts, ends = [], False
    while True:
        event = decoder.next_event()
        if isinstance(event, (Field, File)):
            parts.append([frames.fields((name, value) for name, value in event.headers), ""])
        elif isinstance(event, Data):
            parts[-1][1] += event.data.decode("latin-1")
        elif isinstance(event, Epilogue):
            return {"parts": parts}
        elif isinstance(event, NeedData):
            if ends:
                raise EOFError("incomplete")
            ends = True
            decoder.receive_data(None)


if __name__ == "__main__":
    frames.run(read)
