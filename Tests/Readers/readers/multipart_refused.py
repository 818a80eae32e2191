# SPDX-License-Identifier: Apache-2.0
"""Multipart messages that Lastro refuses, and others read."""
from .classes import Class as _Class

NAMED = b"Content-Disposition: form-data; name=\"a\"\r\n"
END = b"\r\n--b--\r\n"


def part(fields=b"", body=b"abc", end=END, first=b"--b\r\n", blank=b"\r\n"):
    return first + NAMED + fields + blank + body + end


def Class(name, reason, *messages, data=rb"", **tests):
    rows = [(f"`{each.replace(NAMED, b'N').decode('latin-1').encode('unicode_escape').decode()[:70]}`", each)
            for each in messages]
    return _Class(name, reason, *rows, data=data, argument="b", **tests)


def fields(*lines):
    return [part(line + b"\r\n") for line in lines]


REFUSED = [
    Class("message that breaks off", "RFC 2046 §5.1.1: the last delimiter ends it", b"", b"--b\r\n", part(end=b""),
          part(end=b"\r\n"), part(end=b"\r\n--b"), part(end=b"\r\n--b-"), b"--b\r\n" + NAMED, part(end=b"\r\n--b\r\n"),
          b"\r--b--", b"a--b--", b"\n--b--", b"--b\r\n\r\nabc\r--b--\r\n", part(end=b"\n--b--\r\n"),
          part(body=b"--b\r\n--b--\r\n", end=b""), b"--b\r\n" + NAMED + b"\r\n--b\r\n", part(end=b"abc--b--\r\n"),
          part(end=b"\r--b--\r\n"), part(end=b"\r\n--b\n"), part(end=b"\r\n--b \r\n"), b"abc", part(end=b"\r\n--bx--\r\n"),
          part(end=b"\r\n--b-\r\n"), part(end=b"\r\n--b\r\n\r\n"), b"--b\r\n\r\nabc", b"preamble\n--b--\r\n", b"\r\n\r\n", b"--b",
          b"\r\n--b\r\n" + NAMED + b"\r\n\n--b--\r\n", part(b"X: y"), part(end=b"\r\n--b\r\n" + NAMED),
          part(blank=b"")[:-9], b"--b\n--b--", part(end=b"\n--b--"), part(end=b"\n--b\n--b--\r\n"),
          ours="^the multipart message ended"),
    Class("LF alone in the head of a part", "RFC 2046 §5.1: CRLF", *fields(b"X: y\nZ: a"), part(blank=b"\n"), part(b"X: y\n"),
          part(b"\n"), b"--b\r\n\n" + NAMED + b"\r\nabc" + END, b"--b\r\nX: y\n\r\nabc" + END, b"--b\r\n\nabc" + END,
          part(b"X: y\r\n\n", b"", blank=b""), part(b"X: y\r\n", blank=b"\n\n"), part(blank=b"\n\r\n"), part(b"X : y\n"),
          part(b"X\n"), part(blank=b"\r\r\n\n"), part(b": y\n"),
          part(b"\xff\n"), part(b" z\n"), b"--b\r\n" + NAMED[:-2] + b"\n\r\nabc" + END, part(b"X: y\n z\r\n"), part(b"X: y\r"),
          part(b"X: \x01\n"), ours="^the line of a field"),
    Class("LF alone after a delimiter", "RFC 2046 §5.1.1: CRLF", part(first=b"--b\n"),
          part(end=b"\r\n--b\n" + NAMED + b"\r\nabc" + END), part(first=b"--b\n", blank=b"\n"), b"--b\n\r\nabc" + END,
          part(first=b"\r\n--b\n"), part(end=b"\r\n--b\n\r\nabc" + END), part(end=b"\r\n--b \n" + NAMED + b"\r\nabc" + END),
          part(first=b"--b \n"), b"--b\n\nabc\n--b--\n", part(body=b"\n--b\n\r\n--b\n", end=END), ours="^a delimiter of the"),
    Class(
        "name of a field", "RFC 9110 §5.1: a token, with no blank before the colon",
        *fields(b"X : y", b": y", b"(X): y", b"X\x80: y", b"X Y: z", b"X\x00: y", b"\x0bX: y", b"X\r: y", b"X\x7f: y",
                b"X\t: y"), b"--b\r\nX : y\r\n\r\nabc" + END, b"--b\r\n: y\r\n\r\nabc" + END,
        b"--b\r\n: y\r\n" + NAMED + b"\r\nabc" + END, b"--b\r\n(X): y\r\n\r\nabc" + END, b"--b\r\nX\x80: y\r\n\r\nabc" + END,
        part(b"\rX: y\r\n"), ours="a field name is", data=rb""),
    Class("line without a colon", "RFC 9112 §5: no field", *fields(b"X", b"\r", b"--b", b"abc", b"--bx"),
          b"--b\r\nX\r\n\r\nabc" + END, b"--b\r\n\r\r\n\r\nabc" + END, part(blank=b"\r\r\n\r\n"), b"--b\r\nabc" + END,
          part(blank=b""), b"--b\r\n--b\r\n\r\nabc" + END, b"--b\r\n" + NAMED + b"--b\r\n" + NAMED + b"\r\nabc" + END,
          part(blank=b"\r"), b"--b\r\n--b\r\n" + NAMED + b"\r\nabc" + END, ours="has no colon"),
    Class("control character in a field", "RFC 9110 §5.5: none but tabs",
          *fields(b"X: a\x00b", b"X: a\x01b", b"X: a\rb", b"X: \x7f", b"X: a\x0bb", b"X: y\r", b"X: \x0cy", b"X: a\x1cb"),
          b"--b\r\nX: a\x00b\r\n\r\nabc" + END, b"--b\r\nX: a\x01b\r\n\r\nabc" + END, b"--b\r\nX: a\rb\r\n\r\nabc" + END,
          b"--b\r\nX: \x0by\r\n\r\nabc" + END, b"--b\r\nContent-Disposition: form-data; name=\"a\x01\"\r\n\r\nabc" + END,
          b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\r\n\r\nabc" + END,
          b"--b\r\nContent-Disposition: form-data; name\x0f\"a\"\r\n\r\nabc" + END, b"--b\r\nX: y\r\r\n\r\nabc" + END,
          ours="a field value has a control"),
    Class("head of a part that begins with a blank", "RFC 9112 §5.2: a continuation of nothing",
          b"--b\r\n X: y\r\n" + NAMED + b"\r\nabc" + END, b"--b\r\n \r\n\r\nabc" + END, b"--b\r\n X: y\r\n\r\nabc" + END,
          b"--b\r\n\t" + NAMED + b"\r\nabc" + END, b"--b\r\n \r\n" + NAMED + b"\r\nabc" + END, ours="begins with a blank"),
    Class("many blanks after a delimiter", "RFC 2046 §5.1.1: transport padding; Lastro accepts 128",
          part(first=b"--b" + b" " * 200 + b"\r\n"), b"--b" + b" " * 200 + b"\r\n\r\nabc" + END,
          part(end=b"\r\n--b" + b" " * 200 + b"\r\n" + NAMED + b"\r\nabc" + END),
          part(end=b"\r\n--b" + b" " * 200 + b"\r\n\r\nabc" + END), ours="blanks follow a delimiter"),
    Class("large or many",
          "MultipartMachine.Limits: 16 KiB and 32 fields for a head, 64 KiB before the first delimiter, 1,000 parts",
          part(b"X: y\r\n" * 40), part(b"X: " + b"y" * 17000 + b"\r\n"), b"a" * 70000 + b"\r\n" + part(),
          (b"--b\r\n" + NAMED + b"\r\n\r\n") * 1001 + b"--b--\r\n", ours="exceeds|more than|no delimiter"),
]
