# SPDX-License-Identifier: Apache-2.0
"""The frames that every reader reads, and the lines that it writes."""
import json
import logging
import sys

logging.disable()


def run(read):
    """Writes a line for each frame of standard input: what `read` returns for its argument and its bytes."""
    data, at, lines = sys.stdin.buffer.read(), 0, []
    while at < len(data):
        end = data.index(b"\n", at)
        argument, length = data[at:end].split(b" ")
        at = end + 1 + int(length)
        lines.append(json.dumps(_result(read, argument.decode("latin-1"), data[end + 1:at])))
    sys.stdout.write("\n".join(lines) + "\n")


def _result(read, argument, data):
    try:
        return read(argument, data)
    except RecursionError:
        raise
    except Exception as error:  # Any exception is a refusal: the reader is the judge, whatever it throws.
        return {"no": f"{type(error).__name__}: {error}"[:200]}


def text(value):
    """Bytes as Lastro reads a field's value: UTF-8, or else ISO 8859-1; a text as it was decoded."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        value = value.decode("latin-1").encode("utf-8")
    return value.decode("latin-1")


def fields(pairs):
    return [[text(name).lower(), text(value)] for name, value in pairs]


def head(version, status, reason, pairs, body, trailers, rest, keeps=None):
    """The canonical form of a response; None where a reader does not say."""
    return {
        "version": version,
        "status": status,
        "reason": None if reason is None else text(reason),
        "fields": fields(pairs),
        "body": body.decode("latin-1"),
        "trailers": None if trailers is None else fields(trailers),
        "rest": rest,
        "keeps": keeps
    }


def utf8(value):
    """The bytes of a text in UTF-8, as characters of ISO 8859-1."""
    return None if value is None else value.encode("utf-8", "surrogatepass").decode("latin-1")


def whole(value):
    """A number as Lastro has it; a text that is no number stays."""
    return max(0, int(value)) if isinstance(value, int) or value.isascii() and value.lstrip("-").isdigit() else value
