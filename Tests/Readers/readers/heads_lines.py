# SPDX-License-Identifier: Apache-2.0
"""Status lines, chunks and limits for which Lastro refuses responses that others read."""
from .classes import Class
from .heads_refused import CHUNKED, of


def first(line, *fields, body=b"abc"):
    shown = line.decode("latin-1").encode("unicode_escape").decode()
    return (f"`{shown}`", of(*(fields or (b"Content-Length: 3", )), body=body, first=line))


def chunks(body):
    shown = body.decode("latin-1").encode("unicode_escape").decode()
    return (f"`{shown}`" if len(shown) < 60 else f"`{shown[:30]}`…", of(CHUNKED, body=body))


def interim(count):
    return (f"{count} times 100", b"HTTP/1.1 100\r\n\r\n" * count + of(b"Content-Length: 3", body=b"abc"))


STATUS_LINES = [
    Class("another protocol's name", "RFC 9112 §2.3: `HTTP`, in upper case", first(b"RTSP/1.0 200 OK"), first(b"http/1.1 200 OK"),
          first(b"ICE/1.0 200 OK"), ("an empty line first", b"\r\n" + of(b"Content-Length: 3", body=b"abc")),
          first(b"ICY 200 OK"), first(b"HTTP 200 OK"),
          ("an empty line after an interim head", b"HTTP/1.1 103 X\r\n\r\n\r\n" + of(b"Content-Length: 3", body=b"abc")),
          ours="^the response does not begin", data=rb""),
    Class("unknown version", "RFC 9112 §2.3: over a connection for HTTP/1.1 a server responds with 1.1 or 1.0",
          first(b"HTTP/1.2 200 OK"), first(b"HTTP/0.9 200 OK"), first(b"HTTP/1.10 200 OK"), first(b"HTTP/4.0 200 OK"),
          first(b"HTTP/1 200 OK"), first(b"HTTP/11 200 OK"), first(b"HTTP/0.1 200 OK"), first(b"HTTP/1.\x00 200 OK"),
          first(b"HTTP/ 200 OK"), first(b"HTTP/x1.1 200 OK"), first(b"HTTP/\x801.1 200 OK"),
          ours="does not begin with a known HTTP version", data=rb""),
    Class("status line of HTTP/2 or HTTP/3", "RFC 9113 §3.2: these begin otherwise", first(b"HTTP/2 200 OK"),
          first(b"HTTP/2.0 200 OK"), first(b"HTTP/3 200 OK"), first(b"HTTP/3.1 200 OK"),
          ours="^the (response says HTTP/|status line has no status)", data=rb"HTTP/[23]"),
    Class("blanks around the status", "RFC 9112 §4: one space", first(b"HTTP/1.1  200 OK"), first(b"HTTP/1.1\t200 OK"),
          first(b"HTTP/1.1200 OK"), first(b"HTTP/1.1 \x0b200 OK"), first(b"HTTP/1.1 200\tOK"), first(b"HTTP/1.1 \t200 OK"),
          first(b"HTTP/1.1 \xa0200"), ours="^the status", data=rb"(?m)^HTTP/(?!1\.[01] \d{3}( |\r?$))"),
    Class("status that is no three digits", "RFC 9112 §4: `3DIGIT`", first(b"HTTP/1.1 20 OK"), first(b"HTTP/1.1 2000 OK"),
          first(b"HTTP/1.1 200OK"), first(b"HTTP/1.1 200$OK"), first(b"HTTP/1.1 2x0 OK"), first(b"HTTP/1.1 +20 OK"),
          first(b"HTTP/1.1 -20 X"), first(b"HTTP/1.1 2_0 X"),
          first(b"HTTP/1.1 200\x00OK"), first(b"HTTP/1.1 "), first(b"HTTP/1.1"), first(b"HTTP/1.1 OK"),
          first(b"HTTP/1.1 200\x7fOK"), ours="^the status", data=rb"(?m)^HTTP/(?!\S+ \d{3}( |\r?$))"),
    Class("status below 100", "RFC 9110 §15: 100 to 999", first(b"HTTP/1.1 099 X"), first(b"HTTP/1.1 000 X"),
          first(b"HTTP/1.1 099"),
          ("099, then another response", b"HTTP/1.1 099 X\r\nContent-Length: 3\r\n\r\n" + of(b"Content-Length: 3", body=b"abc")),
          ours="outside 100-999", data=rb"HTTP/\S+ 0\d\d"),
    Class("101 that was not requested", "RFC 9110 §15.2.2: only after `Upgrade`. The bytes after it would be another protocol's",
          first(b"HTTP/1.1 101 X"), first(b"HTTP/1.1 101"), first(b"HTTP/1.1 101 X", b"Upgrade: h2c", b"Connection: upgrade"),
          ("as the response to HEAD", b"HTTP/1.1 101 X\r\n\r\n", "HEAD"), ours="101 Switching Protocols",
          data=rb"HTTP/\S+ 101"),
    Class("many interim responses", "Docs/Wire.md: 32 at once, as each costs time and no byte of the body comes", interim(33),
          ("33 times 103", b"HTTP/1.1 103 X\r\nLink: x\r\n\r\n" * 33 + of(b"Content-Length: 3", body=b"abc")),
          ours="interim responses without progress", data=rb""),
    Class("many fields", "Docs/Wire.md: 500 fields", ("501 fields", of(*[b"X: y"] * 501, body=b"")),
          ("501 trailers", of(CHUNKED, body=b"0\r\n" + b"X: y\r\n" * 501 + b"\r\n")), ours="has more than 500 (trailer )?field",
          data=rb"(?:\n[^\n]*){500}"),
    Class("large trailers", "Docs/Wire.md: 256 KiB",
          ("70 trailers of 4 KiB", of(CHUNKED, body=b"0\r\n" + (b"X: " + b"y" * 4000 + b"\r\n") * 70 + b"\r\n")),
          ours="^the trailers of the response exceed", data=rb""),
]
CHUNKS = [
    Class("chunk without a size", "RFC 9112 §7.1: `1*HEXDIG`; a blank or a sign before it is not of the grammar",
          chunks(b" 3\r\nabc\r\n0\r\n\r\n"), chunks(b"+3\r\nabc\r\n0\r\n\r\n"), chunks(b"-0\r\n\r\n"), chunks(b"\r\n0\r\n\r\n"),
          chunks(b"\n\r\n"), chunks(b";a\r\n\r\n"), chunks(b"\x0b0\r\n\r\n"), chunks(b"3\r\nabc\r\n\n0\r\n\r\n"),
          chunks(b"\x9b3\r\nabc\r\n0\r\n\r\n"), chunks(b"\r\n\r\n"), chunks(b"\t3\r\nabc\r\n0\r\n\r\n"),
          chunks(b"_3\r\nabc\r\n0\r\n\r\n"), ours="^a chunk has no size", data=rb"\n[^0-9A-Fa-f]"),
    Class("long size of a chunk", "RFC 9112 §7.1: a recipient has to expect overflows; Lastro reads 16 digits, up to 2^63 - 1",
          chunks(b"00000000000000003\r\nabc\r\n0\r\n\r\n"), chunks(b"00000000000000000\r\n\r\n"),
          chunks(b"0" * 30 + b"3\r\nabc\r\n0\r\n\r\n"), chunks(b"ffffffffffffffff\r\nabc\r\n0\r\n\r\n"), ours="too many digits",
          data=rb"[0-9A-Fa-f]{16}"),
    Class("chunk that does not end where its size says", "RFC 9112 §7.1: CRLF after the data", chunks(b"3\r\nabc\n0\r\n\r\n"),
          chunks(b"3\r\nabcd\r\n0\r\n\r\n"), chunks(b"3\r\nabc0\r\n\r\n"), chunks(b"3\r\nabc\r0\r\n\r\n"),
          chunks(b"3\r\nabc\r\r\n0\r\n\r\n"), chunks(b"3\r\nabcxy0\r\n\r\n"), chunks(b"3\r\nabc  \r\n0\r\n\r\n"),
          ours="^a chunk does not end where", data=rb"(?i)transfer-encoding"),
    Class("chunk line without CRLF",
          "RFC 9112 §7.1: CRLF. LF alone in an extension is how two readers are made to see two chunks",
          chunks(b"3\nabc\r\n0\r\n\r\n"), chunks(b"3\r\r\nabc\r\n0\r\n\r\n"), chunks(b"3\rx\nabc\r\n0\r\n\r\n"),
          chunks(b"3\r\nabc\r\n0\n\r\n"), chunks(b"3;a\nabc\r\n0\r\n\r\n"), chunks(b"0\r\r\n\r\n"),
          chunks(b"3\r;a\r\nabc\r\n0\r\n\r\n"), chunks(b"3;a\rb\r\nabc\r\n0\r\n\r\n"), chunks(b"0\n\n"),
          ours="^the (line of a chunk|text after the size)", data=rb"[^\r]\n|\r[^\n]"),
    Class("text after a size that is no extension", "RFC 9112 §7.1.1: `; name`, `; name=value`",
          chunks(b"3 5\r\nabc\r\n0\r\n\r\n"), chunks(b"3g\r\nabc\r\n0\r\n\r\n"), chunks(b"3,\r\nabc\r\n0\r\n\r\n"),
          chunks(b"3;a>\r\nabc\r\n0\r\n\r\n"), chunks(b"3;=b\r\nabc\r\n0\r\n\r\n"), chunks(b"3;;\r\nabc\r\n0\r\n\r\n"),
          chunks(b"3;a=b=c\r\nabc\r\n0\r\n\r\n"), chunks(b"3;a=\x80\r\nabc\r\n0\r\n\r\n"),
          chunks(b"3;a=b\"c\"\r\nabc\r\n0\r\n\r\n"), chunks(b"3\x00\r\nabc\r\n0\r\n\r\n"), chunks(b"3;\x01\r\nabc\r\n0\r\n\r\n"),
          chunks(b"3_0\r\n" + b"a" * 48 + b"\r\n0\r\n\r\n"), chunks(b"0x3\r\nabc\r\n0\r\n\r\n"),
          chunks(b"3\x0b\r\nabc\r\n0\r\n\r\n"), chunks(b"3;a=\"b\"c\r\nabc\r\n0\r\n\r\n"), chunks(b"3\x85\r\nabc\r\n0\r\n\r\n"),
          chunks(b"0;\x80\r\n\r\n"), chunks(b"3;a=\"\x01\"\r\nabc\r\n0\r\n\r\n"), ours="^the text after the size",
          data=rb"(?i)transfer-encoding"),
    Class("incomplete extension", "RFC 9112 §7.1.1: a name, and a value if there is `=`", chunks(b"3;\r\nabc\r\n0\r\n\r\n"),
          chunks(b"3 \r\nabc\r\n0\r\n\r\n"), chunks(b"3;a=\r\nabc\r\n0\r\n\r\n"), chunks(b"3;a=\"b\r\nabc\r\n0\r\n\r\n"),
          chunks(b"3;a \r\nabc\r\n0\r\n\r\n"), chunks(b"0 \r\n\r\n"), chunks(b"3\t\r\nabc\r\n0\r\n\r\n"),
          chunks(b"3;a=b \r\nabc\r\n0\r\n\r\n"), chunks(b"3;a=\"b\\\r\nabc\r\n0\r\n\r\n"),
          ours="^an extension of a chunk is incomplete", data=rb"[; \t=\"\\][^\n]*\n"),
    Class("long extensions", "RFC 9112 §7.1.1: a recipient limits them; Docs/Wire.md: 4 KiB for a line",
          chunks(b"3;" + b"x" * 5000 + b"\r\nabc\r\n0\r\n\r\n"), chunks((b"1;" + b"x" * 4000 + b"\r\na\r\n") * 6 + b"0\r\n\r\n"),
          ours="^(an extension of a chunk is longer|the chunks carry more)", data=rb"\n[0-9A-Fa-f]+[ \t]*;[^\n]{900}"),
    Class("chunked body that breaks off", "RFC 9112 §8: incomplete without the last chunk and the empty line",
          chunks(b"3\r\nabc\r\n0\r\n"), chunks(b"3\r\nabc\r\n0\r\nX: y\r\n"), chunks(b"3\r\nabc\r\n0\r\n\r"),
          chunks(b"3\r\nabc\r\n0\r\n\rX"), chunks(b"3\r\nabc\r\n"), chunks(b"3\r\nabc\r\n0"), chunks(b""),
          chunks(b"3\r\nabc\r\n0\r\nX"), chunks(b"3\r\nab"), chunks(b"3"), ours="^the connection ended before the body",
          data=rb"(?i)chunked"),
    Class("body shorter than its length", "RFC 9112 §8: incomplete", ("3 of 5 bytes", of(b"Content-Length: 5", body=b"abc")),
          ("`5, 5`, 3 bytes", of(b"Content-Length: 5, 5", body=b"abc")),
          ("`5`, `5`, 3 bytes", of(b"Content-Length: 5", b"Content-Length: 5", body=b"abc")),
          ours="^the connection ended before the body", data=rb"(?i)content-length"),
    Class("trailer line that ends in LF", "RFC 9112 §2.2 allows LF; Lastro has CRLF in all of a chunked body",
          chunks(b"0\r\nX: y\n\r\n"), chunks(b"0\r\nX: y\nZ: a\r\n\r\n"), chunks(b"0\r\n\n"), chunks(b"0\r\nX: y\r\n\n"),
          chunks(b"0\r\n\r\r\n\r\n"), ours="^a trailer line ends without CR", data=rb"[^\r]\n"),
    Class("folded trailer", "RFC 9112 §5.2: refused, as in fields that frame bodies", chunks(b"0\r\nX: y\r\n z\r\n\r\n"),
          chunks(b"0\r\n X: y\r\n\r\n"), chunks(b"0\r\n\t\r\n\r\n"), ours="^a trailer line is folded", data=rb"\n[ \t]"),
]
