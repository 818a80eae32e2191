# SPDX-License-Identifier: Apache-2.0
"""Responses that Lastro refuses, and others read."""
from .classes import Class

TOKEN = rb"[0-9A-Za-z!#$%&'*+.^_`|~-]"
# A line of a field whose value is no list of equal numbers.
LENGTH = rb"(?im)^content-length[ \t]*:(?![ \t]*\d{1,18}[ \t]*(,[ \t]*\d{1,18}[ \t]*)*\r?$)"
CODING = rb"(?im)^transfer-encoding"


def of(*fields, body=b"", first=b"HTTP/1.1 200 OK"):
    return b"\r\n".join([first, *fields, b"", b""]) + body


def length(value):
    return (f"`Content-Length:{value.decode('latin-1')}`", of(b"Content-Length:" + value, body=b"abc"))


def field(line):
    shown = line.decode("latin-1").encode("unicode_escape").decode()
    return (f"`{shown}`", of(line, b"Content-Length: 3", body=b"abc"))


def coding(value, body=b"3\r\nabc\r\n0\r\n\r\n", first=b"HTTP/1.1 200 OK"):
    return (f"`Transfer-Encoding:{value.decode()}`", of(b"Transfer-Encoding:" + value, body=body, first=first))


CHUNKED = b"Transfer-Encoding: chunked"
HEADS = [
    Class("length that is no number", "RFC 9110 §8.6: digits alone. A number that two readers read differently frames two bodies",
          length(b" +3"), length(b" -3"), length(b" 3 3"), length(b" 1_0"), length(b" 3;"), length(b""), length(b" 3,"),
          length(b" 0x3"), length(b" 99999999999999999999"),
          ("`Content-Length: 3;` beside `chunked`", of(CHUNKED, b"Content-Length: 3;", body=b"3\r\nabc\r\n0\r\n\r\n")),
          ("`Content-Length: 2^64` beside `chunked`", of(CHUNKED, b"Content-Length: 18446744073709551616", body=b"0\r\n\r\n")),
          ours="^Content-Length .* is not a number", data=LENGTH),
    Class("unequal lengths", "RFC 9112 §6.3, item 5: an unrecoverable error", length(b" 3, 7"),
          ("two fields, 3 and 7", of(b"Content-Length: 3", b"Content-Length: 7", body=b"abcdefg")),
          ("3 and 7 beside `chunked`", of(CHUNKED, b"Content-Length: 3, 7", body=b"0\r\n\r\n")), ours="^several Content-Length",
          data=rb"(?is)\ncontent-length"),
    Class("length beside a transfer coding",
          "RFC 9112 §6.3, item 3: a sign of request smuggling. A client may prefer the coding, or refuse",
          ("`Content-Length: 3` beside `chunked`", of(b"Content-Length: 3", CHUNKED, body=b"3\r\nabc\r\n0\r\n\r\n")),
          ("after an empty `Transfer-Encoding`", of(b"Transfer-Encoding:", b"Content-Length: 3", body=b"abc")),
          ("beside an empty `Transfer-Encoding`", of(b"Content-Length: 3", b"Transfer-Encoding:", body=b"abc")),
          ours="^Content-Length and Transfer-Encoding", data=CODING),
    Class("transfer coding other than chunked",
          "RFC 9112 §7.4: a server sends no coding that was not offered, and Lastro offers none", coding(b" gzip, chunked"),
          coding(b" identity", body=b"abc"), coding(b" chunked, chunked"), coding(b"", body=b"abc"), coding(b" xchunked"),
          coding(b" chunked;q=1"), coding(b" chunked,"), coding(b" chunked\r\nTransfer-Encoding: chunked"),
          coding(b" chunked, identity"), ours="^Transfer-Encoding is not", data=CODING),
    Class("transfer coding in HTTP/1.0",
          "RFC 9112 §6.1: the framing is faulty. An older proxy may have passed on what it did not understand",
          coding(b" chunked", first=b"HTTP/1.0 200 OK"), coding(b" gzip", body=b"abc", first=b"HTTP/1.0 200 OK"),
          ("`HTTP/2` with `chunked`", of(CHUNKED, body=b"0\r\n\r\n", first=b"HTTP/2 200 OK")),
          ours="^Transfer-Encoding does not exist", data=CODING),
    Class("name that is no token",
          "RFC 9110 §5.1, RFC 9112 §5.1: no blank before the colon, as it hides fields from other readers", field(b"X : y"),
          field(b"X Y: z"), field(b"\xd7X: y"), field(b": y"), field(b"(X): y"), field(b"X\x00: y"), field(b"X\x0b: y"),
          field(b"X\x80: y"), field(b"X\x7f: y"), field(b"X\r: y"), field(b"Content-Length : 3"), field(b"\x0bX: y"),
          field(b"\rX: y"), ("`Content-Length : 3`, 204", of(b"Content-Length : 3", first=b"HTTP/1.1 204 X")),
          ("in a trailer: `X : y`", of(CHUNKED, body=b"0\r\nX : y\r\n\r\n")),
          ("in a trailer: `: y`", of(CHUNKED, body=b"0\r\n: y\r\n\r\n")), ours="^a field name",
          data=rb"(?m)^(:|[^:\n]*(?!%s)[^:\n][^:\n]*:)" % TOKEN),
    Class("line without a colon", "RFC 9112 §5: no field", field(b"X"), field(b"\r"), field(b"HTTP/1.1 200 OK"),
          ("an interim head", b"HTTP/1.1 100 Continue\r\nX\r\n\r\n" + of(b"Content-Length: 3", body=b"abc")),
          ("in a trailer", of(CHUNKED, body=b"0\r\nX\r\n\r\n")), ours="^a field line has no colon", data=rb"(?m)^[^:\n]+$"),
    Class("folded field that frames the body",
          "RFC 9112 §5.2: a client replaces folds or refuses; readers that pass over them see another body",
          ("`Content-Length:`, 3 on the next line", of(b"Content-Length:\r\n 3", body=b"abc")),
          ("`Content-Length: 3`, then a blank line", of(b"Content-Length: 3\r\n ", body=b"abc")),
          ("`Transfer-Encoding:`, `chunked` on the next line", of(b"Transfer-Encoding:\r\n chunked",
                                                                  body=b"3\r\nabc\r\n0\r\n\r\n")),
          ("`Content-Length: 0`, 3 on the next line, 304", of(b"Content-Length: 0\r\n 3", first=b"HTTP/1.1 304 X")),
          ours="^a field that frames the body is folded", data=rb"(?i)\n(content-length|transfer-encoding):[^\n]*\n[ \t]"),
    Class("folded first line", "RFC 9112 §2.2: a blank between the status line and the first field belongs to neither",
          ("` X: y`", of(b" X: y", b"Content-Length: 3", body=b"abc")), ("a blank", of(b" ", b"Content-Length: 3", body=b"abc")),
          ("after an interim head with a field",
           b"HTTP/1.1 103 X\r\nX: y\r\n\r\n" + of(b" X: y", b"Content-Length: 3", body=b"abc")),
          ("an interim head", b"HTTP/1.1 103 X\r\n X: y\r\n\r\n" + of(b"Content-Length: 3", body=b"abc")),
          ours="^the response head begins with a folded", data=rb"HTTP/[^\n]*\n[ \t]"),
    Class("control character in a value", "RFC 9110 §5.5: CR, LF and NUL end values for some readers; others have no use either",
          field(b"X: a\rb"), field(b"X: a\x00b"), field(b"X: a\x01b"),
          field(b"X: a\x7fb"), field(b"X: a\x0bb"), field(b"X:\x0cb"), field(b"X: a\x1fb"), field(b"X: a\r"), field(b"X: \x1c"),
          field(b"X: \x1e"), ("CR in the reason", of(b"Content-Length: 3", body=b"abc", first=b"HTTP/1.1 200 O\rK")),
          ("CR CR LF after the reason", of(b"Content-Length: 3", body=b"abc", first=b"HTTP/1.1 200 OK\r")),
          ("NUL in the reason", of(b"Content-Length: 3", body=b"abc", first=b"HTTP/1.1 200 O\x00K")),
          ("0x01 in the reason", of(b"Content-Length: 3", body=b"abc", first=b"HTTP/1.1 200 O\x01K")),
          ("0x0B after the reason", of(b"Content-Length: 3", body=b"abc", first=b"HTTP/1.1 200 OK\x0b")),
          ("CR in a cookie", of(b"Set-Cookie: a=b\rc", b"Content-Length: 3", body=b"abc")),
          ("NUL in a cookie", of(b"Set-Cookie: a=b\x00", b"Content-Length: 3", body=b"abc")),
          ("in a trailer: 0x01", of(CHUNKED, body=b"0\r\nX: \x01\r\n\r\n")),
          ("in a trailer: CR", of(CHUNKED, body=b"0\r\nX: a\rb\r\n\r\n")), ours="^a field value has a control",
          data=rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r[^\n]"),
    Class("head that breaks off", "RFC 9112 §8: incomplete", ("no empty line", b"HTTP/1.1 200 OK\r\nX: y\r\n"),
          ("CR and another byte instead", b"HTTP/1.1 204 X\r\n\rX"), ("in a line", b"HTTP/1.1 200 OK\r\nX"),
          ("in the status line", b"HTTP/1.1 200"), ("with a length", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"),
          ("in an interim head", b"HTTP/1.1 100 Continue\r\n"), ("after an interim head", b"HTTP/1.1 100 Continue\r\n\r\n"),
          ours="^the connection ended before a response", data=rb""),
]
