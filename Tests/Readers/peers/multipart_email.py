# SPDX-License-Identifier: Apache-2.0
"""Multipart messages, read by Python's email."""
import email.parser
import email.policy

import frames

PARSER = email.parser.BytesParser(policy=email.policy.compat32)


def _bytes(text):
    return text.encode("ascii", "surrogateescape")


def read(boundary, data):
    message = PARSER.parsebytes(b'Content-Type: multipart/mixed; boundary="%s"\r\n\r\n' % boundary.encode("latin-1") + data)
    for part in message.walk():
        # It reads on, and leaves the decision to its caller.
        if part.defects:
            raise part.defects[0]
    if not message.is_multipart():
        raise ValueError("no parts")
    parts = []
    for part in message.get_payload():
        if part.is_multipart():
            raise ValueError("nested")
        pairs = [(_bytes(name), _bytes(value)) for name, value in part.raw_items()]
        parts.append([frames.fields(pairs), _bytes(part.get_payload()).decode("latin-1")])
    return {"parts": parts}


if __name__ == "__main__":
    frames.run(read)
