# SPDX-License-Identifier: Apache-2.0
"""Responses, read by Python's http.client."""
import http.client
import io

import frames


class _Socket:

    def __init__(self, file):
        self.file = file

    def makefile(self, mode):
        return self.file


class _Source(io.BytesIO):

    def close(self):
        """The rest is still wanted."""


def read(method, data):
    source = _Source(data)
    response = http.client.HTTPResponse(_Socket(source), method=method)
    response.begin()
    # Trailers are read over, and not kept.
    body = response.read()
    rest = len(data) - source.tell()
    pairs = [(name, value.encode("latin-1")) for name, value in response.headers.raw_items()]
    version = {9: "0.9", 10: "1.0", 11: "1.1"}[response.version]
    return frames.head(version, response.status, response.reason.encode("latin-1"), pairs, body, None, rest,
                       not response.will_close)


if __name__ == "__main__":
    frames.run(read)
