# SPDX-License-Identifier: Apache-2.0
"""Multipart messages that Lastro reads, and others refuse or read otherwise."""
from .multipart_refused import END, NAMED, Class, fields, part

ACCEPTED = [
    Class("blanks after a delimiter", "RFC 2046 §5.1.1: padding that was added on the way", part(first=b"--b \r\n"),
          part(first=b"--b\t\r\n"), part(end=b"\r\n--b \r\n" + NAMED + b"\r\nabc" + END), part(end=b"\r\n--b-- \r\n"),
          b"--b \r\n\r\nabc" + END, part(end=b"\r\n--b\t\r\n\r\nabc" + END), part(end=b"\r\n--b-- "),
          part(end=b"\r\n--b \r\n\r\nabc" + END), data=rb"--b(--)?[ \t]"),
    Class(
        "text like a delimiter",
        "RFC 2046 §5.1.1: a delimiter begins after CRLF, and CRLF or blanks follow it; anything else is of the body", *[
            part(body=body)
            for body in (b"--b", b"a--b", b"\n--b--", b"\n--b\n", b"\r--b", b"\r\n--bx", b"\r\n--b-x", b"\r\n--bc\r\n",
                         b"--b\r\n", b"\r\n--b;\r\n", b"\r\n--B", b"\n--b\r\n", b"\r\n--b-\r\nx", b"\r\n --b", b"--b--",
                         b"\r\n--b\rx", b"\r\n--b\r\rx", b"\n--b--\r\n", b"\r--b--\r\n", b"a\n--b\r\n\r\nx", b"\r\n--b\r" + NAMED,
                         b"\n--b \r\n", b"a\n--b\n" + NAMED + b"\r\nx", b"\n--b\n\nx", b"\r\n--b\x00", b"\r\n--b ;\r\n")
        ], b"--b\r\n\r\n\n--b--" + END, part(first=b"--bx\r\n--b\r\n"), part(first=b"--b;\r\n--b\r\n"),
        part(first=b"--b-\r\n--b\r\n"), part(end=b"\n--b--" + END), part(end=b"\r\n--bx\r\n\r\n" + END),
        part(first=b"--bx\r\n", end=END), b"--b\r--b--\r\n\r\n--b--\r\n", b"--b\r\r\n\r\nabc" + END,
        part(first=b"--b\r"), b"--bx" + END, b"--b-" + END, b"--b\r" + END, b"--b;\r\n" + NAMED + b"\r\n" + END,
        part(first=b"--b\r\r\n"), b"a--b\r\n" + NAMED + b"\r\nabc" + END, part(first=b"--b--b\r\n"), part(first=b"--b--x\r\n"),
        part(body=b"\r\n--b--x\r\ny",
             end=END), b"--b\r\n\r\n" + b"--bx" + END, data=rb"--b(?!(--)?([ \t]*\r\n|\Z))|[^\n]--b|(\A|[^\r])\n--b"),
    Class("text before the first delimiter", "RFC 2046 §5.1.1: a preamble is dropped", b"preamble\r\n" + part(), b"\r\n" + part(),
          b"\n" + part(), b"preamble\n" + part(), b"a" + part(), b"\r\n\r\n" + part(), b"--\r\n" + part(),
          b"a: b\r\n\r\n" + part(), b"\r" + part(), b"preamble\r\n--b--\r\n", b"\r\n--b\r\n\r\nabc" + END, b"--b" + part(),
          b"-b\r\n" + part(), b"\r\n--b--\r\n", b" --b\r\n" + NAMED + b"\r\n" + END, b"a\r\n--b\r\n\r\nabc" + END,
          b"\n--b\r\n\r\n" + part(), b"\r--b\r\n\r\n\n--b--\r\n" + part(), b"a--b\r\n\r\n" + part(), b"\n--b--\r\n" + part(),
          b"--\r\n--b--\r\n", b"a\n--b--\r\n\r\n" + part(), b"--b\r\r\n" + part(), b"\n--b\n" + part(), b"a: b\r\n\r\n--b--\r\n",
          b"preamble\r\n--b\r\n\r\nabc" + END, b"a" + part(first=b"--b\n"),
          b"\n--b\r\n" + NAMED + b"\n--b--\r\n--b\r\nX: y\r\n\r\nabc" + END, data=rb"\A(?!--b)|\A--b[^\r]"),
    Class(
        "no parts, or empty ones", "RFC 2046 §5.1.1: the CRLF that ends an empty head may be that of the delimiter", b"--b--\r\n",
        b"--b--", b"--b--\n", b"--b\r\n" + NAMED + b"\r\n--b--\r\n", b"--b\r\n\r\n--b--\r\n", *[
            head + b"\r\n--b" + more + b"\r\n--b--" + END for head in (b"--b\r\n", b"--b\r\n" + NAMED)
            for more in (b"\r\nX", b"\r\n--b--\r\n", b"\n", b"\r\n X: y\r\n", b"\r\nX\r: y\r\n", b"\r\nX: \x00\r\n",
                         b"\r\nX: y\n")
        ], part(body=b""), b"--b\r\n" + NAMED + b"\r\n--b\r\n" + NAMED + b"\r\nabc" + END, b"--b\r\n\r\n--b\r\n\r\n--b--\r\n",
        b"--b--epilogue", b"--b--b\r\n" + part(), b"--b\r\n" + NAMED + b"\r\n--b\r\n\r\nabc" + END,
        b"--b\r\n" + NAMED + b"\r\n--b--\n", b"--b\r\n" + NAMED + b"\r\n--b--epilogue\r\n", b"--b-- \r\n",
        b"--b\r\n\r\n--b--\r\n--b\r\n" + NAMED + b"\r\nabc" + END, b"--b--\r\n" + part(), b"--b\r\n\r\n--b--",
        b"--b\r\n" + NAMED + b"\r\n--b--x" + END, b"--b\r\n" + NAMED + b"\r\n--b--" + END,
        b"--b\r\n" + NAMED + b"\r\n--b \r\n" + NAMED + b"\r\nabc" + END, b"--b\r\n\r\n--b\r\n" + NAMED + b"\r\nabc" + END,
        data=rb"--b--|\n\r\n--b"),
    Class("text after the last delimiter", "RFC 2046 §5.1.1: an epilogue is dropped", part(end=b"\r\n--b--epilogue"),
          part(end=b"\r\n--b--\r\nepilogue"), part(end=b"\r\n--b--x\r\n"), part(end=b"\r\n--b--\n"),
          part(end=b"\r\n--b--") + part(),
          part() + part(), part(end=b"\r\n--b--\r"), part(end=b"\r\n--b----\r\n"), part(end=b"\r\n--b--\r\r\n"),
          part(end=b"\r\n--b--\x00"), part(end=b"\r\n--b--b--\r\n"), part(end=b"\r\n--b--"),
          part(end=b"\r\n--b--x") + b"\r\n" + part(), part(end=b"\r\n--b--x\r\n\r\n"), b"--b\r\n\r\nabc\r\n--b--x\r\n",
          b"--b\r\n\r\nabc\r\n--b--\n", part(end=b"\r\n--b--\n\r\n"), data=rb"--b--"),
    Class("no Content-Disposition", "RFC 2046 §5.1: any fields, or none. Parsers of forms need a name", b"--b\r\n\r\nabc" + END,
          b"--b\r\nX: y\r\n\r\nabc" + END, b"--b\r\nContent-Disposition: attachment\r\n\r\nabc" + END,
          b"--b\r\nContent-Disposition: form-data\r\n\r\nabc" + END,
          b"--b\r\nContent-Disposition: form-da-ta; name=\"a\"\r\n\r\nabc" + END, b"--b\r\n\r\n" + END,
          b"--b\r\nContent-Disposition: form-data; name=a\"\r\n\r\nabc" + END, b"--b\r\nContent-Disposition:\r\n\r\nabc" + END,
          part(NAMED), b"--b\r\n\r\n\x00\xff" + END, b"--b\r\n\r\n\r\n\r\n--b\r\n\r\nabc" + END,
          b"--b\r\nContent-Disposition: form-data; nam=\"a\"\r\n\r\nabc" + END,
          b"--b\r\nontent-Disposition: form-data; name=\"a\"\r\n\r\nabc" + END,
          b"--b\r\nContent-Disposition: form-data; name=\"a\"; filename*=x\r\n\r\nabc" + END,
          part()[:-8] + b"\r\n--b\r\n\r\nabc" + END, data=rb""),
    Class("folded field", "RFC 9112 §5.2: one space",
          *fields(b"X: y\r\n z", b"X: y\r\n\tz", b"X:\r\n z", b"X: y\r\n ", b"X: y\r\n a: b",
                  b"X: caf\xe9\r\n z"), b"--b\r\nX: y\r\n z\r\n\r\nabc" + END, b"--b\r\nX: y\r\n \r\n\r\nabc" + END,
          b"--b\r\nX:\r\n z\r\n\r\nabc" + END, data=rb"\n[ \t]"),
    Class("blanks around a value", "RFC 9110 §5.5: not of the value",
          *fields(b"X: y ", b"X:  y", b"X:y", b"X:", b"X:\ty", b"X: y\t", b"X: "), b"--b\r\nX: y \r\n\r\nabc" + END,
          b"--b\r\nX:\r\n\r\nabc" + END, b"--b\r\nX:y\r\n\r\nabc" + END, data=rb""),
    Class("bytes over 0x7F in a field", "RFC 9110 §5.5: UTF-8, or else ISO 8859-1",
          *fields(b"X: caf\xe9", b"X: caf\xc3\xa9", b"X: \x85", b"X: a\xe2\x80\xa8b"), b"--b\r\nX: caf\xe9\r\n\r\nabc" + END,
          b"--b\r\nX: caf\xc3\xa9\r\n\r\nabc" + END, part(b"X: \xff\r\n", b"\xff"), data=rb"[\x80-\xff]"),
    Class("bytes over 0x7F in a body", "RFC 2046 §5.1: any bytes", part(body=b"\x00\xff"), b"--b\r\n\r\n\x00\xff" + END,
          part(body=b"caf\xc3\xa9"), data=rb"[\x80-\xff]"),
    Class(
        "length or coding of a part", "RFC 7578 §4.7, §4.8: none; Lastro leaves the body as it is",
        *fields(b"Content-Length: 3", b"Content-Length: 4", b"Content-Length: 2", b"Content-Length: x",
                b"Content-Length: 3\r\nContent-Length: 3", b"Content-Transfer-Encoding: base64", b"Content-Length:",
                b"Content-Length: 0, 3", b"Content-Length: 3\r\nContent-Length: 4"), b"--b\r\nContent-Length: 9\r\n\r\nabc" + END,
        data=rb"(?i)content-(length|transfer)"),
    Class(
        "message within a part", "RFC 2046 §5.1: Lastro returns the part's body as it is",
        *fields(b"Content-Type: multipart/mixed; boundary=c", b"Content-Type: message/rfc822",
                b"Content-Type: multipart/mixed; boundary=c\r\nContent-Transfer-Encoding: base64",
                b"Content-Type: multipart/mixed"), b"--b\r\nContent-Type: message/rfc822\r\n\r\nabc" + END,
        part(b"Content-Type: message/rfc822\r\n", b"A: b\r\n\r\nc"), data=rb"(multipart/mixed|message/rfc822)"),
    Class(
        "odd line ends in a body", "RFC 2046 §5.1: any bytes", *[
            part(body=body) for body in (b"a\r", b"\r", b"\n", b"a\nb", b"a\rb", b"\r\n", b"\r\n\r\n", b"--", b"\r\n--",
                                         b"\r\n-b", b"a\r\r", b"\n\n", b"\r\r\n", b"-")
        ], b"--b\r\n\r\n\r" + END, b"--b\r\n\r\n\n" + END, b"--b\r\n\r\na\r" + END,
        part(body=b"\r", end=b"\r\n--b\r\n" + NAMED + b"\r\n\n" + END), data=rb""),
]
