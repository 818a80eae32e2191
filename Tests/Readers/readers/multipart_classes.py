# SPDX-License-Identifier: Apache-2.0
"""Multipart messages that readers read differently."""
from .classes import Class as _Class

NAMED = b"Content-Disposition: form-data; name=\"a\"\r\n"
END = b"\r\n--b--\r\n"


def part(fields=b"", body=b"abc", end=END, first=b"--b\r\n", blank=b"\r\n"):
    return first + NAMED + fields + blank + body + end


def Class(name, reason, *messages, data=rb"", **tests):
    rows = [(f"`{each.replace(NAMED, b'N').decode('latin-1').encode('unicode_escape').decode()[:70]}`", each) for each in messages]
    return _Class(name, reason, *rows, data=data, argument="b", **tests)


def fields(*lines):
    return [part(line + b"\r\n") for line in lines]


MULTIPART = [
    Class("message that breaks off", "RFC 2046 §5.1.1: the last delimiter ends it", b"", b"--b\r\n", part(end=b""), part(end=b"\r\n"), part(end=b"\r\n--b"), part(end=b"\r\n--b-"), b"--b\r\n" + NAMED, part(end=b"\r\n--b\r\n"), b"\r--b--", b"a--b--", b"\n--b--", b"--b\r\n\r\nabc\r--b--\r\n", part(end=b"\n--b--\r\n"), part(body=b"--b\r\n--b--\r\n", end=b""),
          b"--b\r\n" + NAMED + b"\r\n--b\r\n", part(end=b"abc--b--\r\n"), part(end=b"\r--b--\r\n"), part(end=b"\r\n--b\n"), part(end=b"\r\n--b \r\n"), b"abc", part(end=b"\r\n--bx--\r\n"), part(end=b"\r\n--b-\r\n"), part(end=b"\r\n--b\r\n\r\n"), b"--b\r\n\r\nabc", b"preamble\n--b--\r\n", b"\r\n\r\n", b"--b", b"\r\n--b\r\n" + NAMED + b"\r\n\n--b--\r\n",
          part(b"X: y"), part(end=b"\r\n--b\r\n" + NAMED), part(blank=b"")[:-9], b"--b\n--b--", part(end=b"\n--b--"), part(end=b"\n--b\n--b--\r\n"), ours="^the multipart message ended"),
    Class("LF alone in the head of a part", "RFC 2046 §5.1: CRLF", *fields(b"X: y\nZ: a"), part(blank=b"\n"), part(b"X: y\n"), part(b"\n"), b"--b\r\n\n" + NAMED + b"\r\nabc" + END, b"--b\r\nX: y\n\r\nabc" + END, b"--b\r\n\nabc" + END, part(b"X: y\r\n\n", b"", blank=b""), part(b"X: y\r\n", blank=b"\n\n"), part(blank=b"\n\r\n"),
          part(b"X : y\n"), part(b"X\n"), part(blank=b"\r\r\n\n"), part(b": y\n"), part(b"\xff\n"), part(b" z\n"), b"--b\r\n" + NAMED[:-2] + b"\n\r\nabc" + END, part(b"X: y\n z\r\n"), part(b"X: y\r"), part(b"X: \x01\n"), ours="^the line of a field"),
    Class("LF alone after a delimiter", "RFC 2046 §5.1.1: CRLF", part(first=b"--b\n"), part(end=b"\r\n--b\n" + NAMED + b"\r\nabc" + END), part(first=b"--b\n", blank=b"\n"), b"--b\n\r\nabc" + END, part(first=b"\r\n--b\n"), part(end=b"\r\n--b\n\r\nabc" + END), part(end=b"\r\n--b \n" + NAMED + b"\r\nabc" + END), part(first=b"--b \n"),
          b"--b\n\nabc\n--b--\n", part(body=b"\n--b\n\r\n--b\n", end=END), ours="^a delimiter of the"),
    Class("name of a field", "RFC 9110 §5.1: a token, with no blank before the colon", *fields(b"X : y", b": y", b"(X): y", b"X\x80: y", b"X Y: z", b"X\x00: y", b"\x0bX: y", b"X\r: y", b"X\x7f: y", b"X\t: y"), b"--b\r\nX : y\r\n\r\nabc" + END, b"--b\r\n: y\r\n\r\nabc" + END, b"--b\r\n: y\r\n" + NAMED + b"\r\nabc" + END, b"--b\r\n(X): y\r\n\r\nabc" + END,
          b"--b\r\nX\x80: y\r\n\r\nabc" + END, part(b"\rX: y\r\n"), ours="a field name is", data=rb""),
    Class("line without a colon", "RFC 9112 §5: no field", *fields(b"X", b"\r", b"--b", b"abc", b"--bx"), b"--b\r\nX\r\n\r\nabc" + END, b"--b\r\n\r\r\n\r\nabc" + END, part(blank=b"\r\r\n\r\n"), b"--b\r\nabc" + END, part(blank=b""), b"--b\r\n--b\r\n\r\nabc" + END, b"--b\r\n" + NAMED + b"--b\r\n" + NAMED + b"\r\nabc" + END, part(blank=b"\r"), b"--b\r\n--b\r\n" + NAMED + b"\r\nabc" + END,
          ours="has no colon"),
    Class("control character in a field", "RFC 9110 §5.5: none but tabs", *fields(b"X: a\x00b", b"X: a\x01b", b"X: a\rb", b"X: \x7f", b"X: a\x0bb", b"X: y\r", b"X: \x0cy", b"X: a\x1cb"), b"--b\r\nX: a\x00b\r\n\r\nabc" + END, b"--b\r\nX: a\x01b\r\n\r\nabc" + END, b"--b\r\nX: a\rb\r\n\r\nabc" + END, b"--b\r\nX: \x0by\r\n\r\nabc" + END,
          b"--b\r\nContent-Disposition: form-data; name=\"a\x01\"\r\n\r\nabc" + END, b"--b\r\nContent-Disposition: form-data; name=\"a\"\r\r\n\r\nabc" + END, b"--b\r\nContent-Disposition: form-data; name\x0f\"a\"\r\n\r\nabc" + END, b"--b\r\nX: y\r\r\n\r\nabc" + END, ours="a field value has a control"),
    Class("head of a part that begins with a blank", "RFC 9112 §5.2: a continuation of nothing", b"--b\r\n X: y\r\n" + NAMED + b"\r\nabc" + END, b"--b\r\n \r\n\r\nabc" + END, b"--b\r\n X: y\r\n\r\nabc" + END, b"--b\r\n\t" + NAMED + b"\r\nabc" + END, b"--b\r\n \r\n" + NAMED + b"\r\nabc" + END, ours="begins with a blank"),
    Class("many blanks after a delimiter", "RFC 2046 §5.1.1: transport padding; Lastro accepts 128", part(first=b"--b" + b" " * 200 + b"\r\n"), b"--b" + b" " * 200 + b"\r\n\r\nabc" + END, part(end=b"\r\n--b" + b" " * 200 + b"\r\n" + NAMED + b"\r\nabc" + END), part(end=b"\r\n--b" + b" " * 200 + b"\r\n\r\nabc" + END), ours="blanks follow a delimiter"),
    Class("large or many", "MultipartMachine.Limits: 16 KiB and 32 fields for a head, 64 KiB before the first delimiter, 1,000 parts", part(b"X: y\r\n" * 40), part(b"X: " + b"y" * 17000 + b"\r\n"), b"a" * 70000 + b"\r\n" + part(), (b"--b\r\n" + NAMED + b"\r\n\r\n") * 1001 + b"--b--\r\n", ours="exceeds|more than|no delimiter"),
    Class("blanks after a delimiter", "RFC 2046 §5.1.1: padding that was added on the way", part(first=b"--b \r\n"), part(first=b"--b\t\r\n"), part(end=b"\r\n--b \r\n" + NAMED + b"\r\nabc" + END), part(end=b"\r\n--b-- \r\n"), b"--b \r\n\r\nabc" + END, part(end=b"\r\n--b\t\r\n\r\nabc" + END), part(end=b"\r\n--b-- "), part(end=b"\r\n--b \r\n\r\nabc" + END),
          data=rb"--b(--)?[ \t]"),
    Class("text like a delimiter", "RFC 2046 §5.1.1: a delimiter begins after CRLF, and CRLF or blanks follow it; anything else is of the body", *[part(body=body) for body in (b"--b", b"a--b", b"\n--b--", b"\n--b\n", b"\r--b", b"\r\n--bx", b"\r\n--b-x", b"\r\n--bc\r\n", b"--b\r\n", b"\r\n--b;\r\n", b"\r\n--B", b"\n--b\r\n", b"\r\n--b-\r\nx", b"\r\n --b", b"--b--",
          b"\r\n--b\rx", b"\r\n--b\r\rx", b"\n--b--\r\n", b"\r--b--\r\n", b"a\n--b\r\n\r\nx", b"\r\n--b\r" + NAMED, b"\n--b \r\n", b"a\n--b\n" + NAMED + b"\r\nx", b"\n--b\n\nx", b"\r\n--b\x00", b"\r\n--b ;\r\n")], b"--b\r\n\r\n\n--b--" + END, part(first=b"--bx\r\n--b\r\n"), part(first=b"--b;\r\n--b\r\n"), part(first=b"--b-\r\n--b\r\n"),
          part(end=b"\n--b--" + END), part(end=b"\r\n--bx\r\n\r\n" + END), part(first=b"--bx\r\n", end=END), b"--b\r--b--\r\n\r\n--b--\r\n", b"--b\r\r\n\r\nabc" + END, part(first=b"--b\r"), b"--bx" + END, b"--b-" + END, b"--b\r" + END, b"--b;\r\n" + NAMED + b"\r\n" + END, part(first=b"--b\r\r\n"), b"a--b\r\n" + NAMED + b"\r\nabc" + END,
          part(first=b"--b--b\r\n"), part(first=b"--b--x\r\n"), part(body=b"\r\n--b--x\r\ny", end=END), b"--b\r\n\r\n" + b"--bx" + END, data=rb"--b(?!(--)?([ \t]*\r\n|\Z))|[^\n]--b|(\A|[^\r])\n--b"),
    Class("text before the first delimiter", "RFC 2046 §5.1.1: a preamble is dropped", b"preamble\r\n" + part(), b"\r\n" + part(), b"\n" + part(), b"preamble\n" + part(), b"a" + part(), b"\r\n\r\n" + part(), b"--\r\n" + part(), b"a: b\r\n\r\n" + part(), b"\r" + part(), b"preamble\r\n--b--\r\n", b"\r\n--b\r\n\r\nabc" + END, b"--b" + part(), b"-b\r\n" + part(),
          b"\r\n--b--\r\n", b" --b\r\n" + NAMED + b"\r\n" + END, b"a\r\n--b\r\n\r\nabc" + END, b"\n--b\r\n\r\n" + part(), b"\r--b\r\n\r\n\n--b--\r\n" + part(), b"a--b\r\n\r\n" + part(), b"\n--b--\r\n" + part(), b"--\r\n--b--\r\n", b"a\n--b--\r\n\r\n" + part(), b"--b\r\r\n" + part(), b"\n--b\n" + part(), b"a: b\r\n\r\n--b--\r\n", b"preamble\r\n--b\r\n\r\nabc" + END,
          b"a" + part(first=b"--b\n"), data=rb"\A(?!--b)|\A--b[^\r]"),
    Class("no parts, or empty ones", "RFC 2046 §5.1.1: the CRLF that ends an empty head may be that of the delimiter", b"--b--\r\n", b"--b--", b"--b--\n", b"--b\r\n" + NAMED + b"\r\n--b--\r\n", b"--b\r\n\r\n--b--\r\n", part(body=b""), b"--b\r\n" + NAMED + b"\r\n--b\r\n" + NAMED + b"\r\nabc" + END, b"--b\r\n\r\n--b\r\n\r\n--b--\r\n", b"--b--epilogue", b"--b--b\r\n" + part(),
          b"--b\r\n" + NAMED + b"\r\n--b\r\n\r\nabc" + END, b"--b\r\n" + NAMED + b"\r\n--b--\n", b"--b\r\n" + NAMED + b"\r\n--b--epilogue\r\n", b"--b-- \r\n", b"--b\r\n\r\n--b--\r\n--b\r\n" + NAMED + b"\r\nabc" + END, b"--b--\r\n" + part(), b"--b\r\n\r\n--b--", b"--b\r\n" + NAMED + b"\r\n--b--x" + END, b"--b\r\n" + NAMED + b"\r\n--b--" + END, b"--b\r\n" + NAMED + b"\r\n--b \r\n" + NAMED + b"\r\nabc" + END,
          b"--b\r\n\r\n--b\r\n" + NAMED + b"\r\nabc" + END, data=rb"--b--|\n\r\n--b"),
    Class("text after the last delimiter", "RFC 2046 §5.1.1: an epilogue is dropped", part(end=b"\r\n--b--epilogue"), part(end=b"\r\n--b--\r\nepilogue"), part(end=b"\r\n--b--x\r\n"), part(end=b"\r\n--b--\n"), part(end=b"\r\n--b--") + part(), part() + part(), part(end=b"\r\n--b--\r"), part(end=b"\r\n--b----\r\n"), part(end=b"\r\n--b--\r\r\n"), part(end=b"\r\n--b--\x00"),
          part(end=b"\r\n--b--b--\r\n"), part(end=b"\r\n--b--"), part(end=b"\r\n--b--x") + b"\r\n" + part(), part(end=b"\r\n--b--x\r\n\r\n"), b"--b\r\n\r\nabc\r\n--b--x\r\n", b"--b\r\n\r\nabc\r\n--b--\n", part(end=b"\r\n--b--\n\r\n"), data=rb"--b--"),
    Class("no Content-Disposition", "RFC 2046 §5.1: any fields, or none. Parsers of forms need a name", b"--b\r\n\r\nabc" + END, b"--b\r\nX: y\r\n\r\nabc" + END, b"--b\r\nContent-Disposition: attachment\r\n\r\nabc" + END, b"--b\r\nContent-Disposition: form-data\r\n\r\nabc" + END, b"--b\r\nContent-Disposition: form-da-ta; name=\"a\"\r\n\r\nabc" + END, b"--b\r\n\r\n" + END,
          b"--b\r\nContent-Disposition: form-data; name=a\"\r\n\r\nabc" + END, b"--b\r\nContent-Disposition:\r\n\r\nabc" + END, part(NAMED), b"--b\r\n\r\n\x00\xff" + END, b"--b\r\n\r\n\r\n\r\n--b\r\n\r\nabc" + END, b"--b\r\nContent-Disposition: form-data; nam=\"a\"\r\n\r\nabc" + END, b"--b\r\nontent-Disposition: form-data; name=\"a\"\r\n\r\nabc" + END,
          b"--b\r\nContent-Disposition: form-data; name=\"a\"; filename*=x\r\n\r\nabc" + END, part() [:-8] + b"\r\n--b\r\n\r\nabc" + END, data=rb""),
    Class("folded field", "RFC 9112 §5.2: one space", *fields(b"X: y\r\n z", b"X: y\r\n\tz", b"X:\r\n z", b"X: y\r\n ", b"X: y\r\n a: b", b"X: caf\xe9\r\n z"), b"--b\r\nX: y\r\n z\r\n\r\nabc" + END, b"--b\r\nX: y\r\n \r\n\r\nabc" + END, b"--b\r\nX:\r\n z\r\n\r\nabc" + END, data=rb"\n[ \t]"),
    Class("blanks around a value", "RFC 9110 §5.5: not of the value", *fields(b"X: y ", b"X:  y", b"X:y", b"X:", b"X:\ty", b"X: y\t", b"X: "), b"--b\r\nX: y \r\n\r\nabc" + END, b"--b\r\nX:\r\n\r\nabc" + END, b"--b\r\nX:y\r\n\r\nabc" + END, data=rb""),
    Class("bytes over 0x7F in a field", "RFC 9110 §5.5: UTF-8, or else ISO 8859-1", *fields(b"X: caf\xe9", b"X: caf\xc3\xa9", b"X: \x85", b"X: a\xe2\x80\xa8b"), b"--b\r\nX: caf\xe9\r\n\r\nabc" + END, b"--b\r\nX: caf\xc3\xa9\r\n\r\nabc" + END, part(b"X: \xff\r\n", b"\xff"), data=rb"[\x80-\xff]"),
    Class("bytes over 0x7F in a body", "RFC 2046 §5.1: any bytes", part(body=b"\x00\xff"), b"--b\r\n\r\n\x00\xff" + END, part(body=b"caf\xc3\xa9"), data=rb"[\x80-\xff]"),
    Class("length or coding of a part", "RFC 7578 §4.7, §4.8: none; Lastro leaves the body as it is", *fields(b"Content-Length: 3", b"Content-Length: 4", b"Content-Length: 2", b"Content-Length: x", b"Content-Length: 3\r\nContent-Length: 3", b"Content-Transfer-Encoding: base64", b"Content-Length:", b"Content-Length: 0, 3", b"Content-Length: 3\r\nContent-Length: 4"),
          b"--b\r\nContent-Length: 9\r\n\r\nabc" + END, data=rb"(?i)content-(length|transfer)"),
    Class("message within a part", "RFC 2046 §5.1: Lastro returns the part's body as it is", *fields(b"Content-Type: multipart/mixed; boundary=c", b"Content-Type: message/rfc822", b"Content-Type: multipart/mixed; boundary=c\r\nContent-Transfer-Encoding: base64", b"Content-Type: multipart/mixed"), b"--b\r\nContent-Type: message/rfc822\r\n\r\nabc" + END,
          part(b"Content-Type: message/rfc822\r\n", b"A: b\r\n\r\nc"), data=rb"(multipart/mixed|message/rfc822)"),
    Class("odd line ends in a body", "RFC 2046 §5.1: any bytes", *[part(body=body) for body in (b"a\r", b"\r", b"\n", b"a\nb", b"a\rb", b"\r\n", b"\r\n\r\n", b"--", b"\r\n--", b"\r\n-b", b"a\r\r", b"\n\n", b"\r\r\n", b"-")], b"--b\r\n\r\n\r" + END, b"--b\r\n\r\n\n" + END, b"--b\r\n\r\na\r" + END, part(body=b"\r", end=b"\r\n--b\r\n" + NAMED + b"\r\n\n" + END), data=rb""),
]
