# SPDX-License-Identifier: Apache-2.0
"""Multipart messages."""
from fuzz import byte_mutations

FIELDS = [
    b"Content-Type: text/plain", b"Content-Length: 3", b"X: y", b"Content-Disposition: form-data; name=\"b\"; filename=\"c.txt\"",
    b"Content-Range: bytes 0-1/3", b"Content-Transfer-Encoding: base64", b"X:y", b"X: caf\xe9", b"X: caf\xc3\xa9",
    b"Content-Type: text/html; charset=x"
]
ODD = [
    b"X : y", b"X", b": y", b" X: y", b"X: a\x00b", b"X: a\x01b", b"X\x80: y", b"X: a\rb", b"X: y\r\n z", b"X: y\r\n\tz", b"X:",
    b"X:\r\n z", b"(X): y", b"X: y ", b"X: y\n", b"X: \x0by", b"X: y\r\n ", b"X Y: z",
    b"Content-Type: multipart/mixed; boundary=c", b"Content-Type: message/rfc822", b"X:  y"
]
BODIES = [
    b"", b"abc", b"a\r\nb", b"\r\n", b"--", b"--b", b"a\nb", b"\r", b"\n", b"a\r", b"\r\n--", b"\r\n--bc", b"\r\n-b", b"--b\r\n",
    b"a\r\n--bx\r\n", b"\x00\xff", b"\n--b\n", b"\n--b--", b"\r--b\r", b"\r\n --b", b"a" * 80
]
DELIMITERS = [
    b"--b \r\n", b"--b\t\r\n", b"--b\n", b"--b\r", b"--b", b"--b-\r\n", b"--bx\r\n", b"-b\r\n", b"--b--\r\n", b"--B\r\n",
    b" --b\r\n", b"--b\r\r\n", b"--b" + b" " * 200 + b"\r\n", b"--b \t \r\n", b"--b;\r\n", b"--b--x\r\n"
]
ENDS = [
    b"--b--", b"--b--\r\n", b"--b-- \r\n", b"--b--\n", b"--b-", b"--b", b"--b\r\n", b"", b"--b--epilogue", b"--b--\r\nepilogue",
    b"--b--\r\n--b\r\n\r\nabc\r\n--b--\r\n"
]
PREAMBLES = [
    b"\r\n", b"preamble\r\n", b"a", b"\n", b"--\r\n", b"preamble\n", b"\r\n\r\n", b"--bx\r\n", b"a: b\r\n\r\n", b"\r", b"--b"
]


def make(dice):
    result = dice.pick(PREAMBLES) if dice.chance(0.15) else b""
    for _ in range(dice.weighted([(1, 0), (5, 1), (4, 2), (1, 3)])):
        result += dice.pick(DELIMITERS) if dice.chance(0.1) else b"--b\r\n"
        fields = [b"Content-Disposition: form-data; name=\"a\""] if dice.chance(0.9) else []
        fields += [dice.pick(FIELDS) for _ in range(dice.below(3))]
        if dice.chance(0.15):
            fields.insert(dice.below(len(fields) + 1), dice.pick(ODD))
        result += b"".join(field + (b"\r\n" if dice.chance(0.98) else dice.pick([b"\n", b"\r", b"\r\r\n"])) for field in fields)
        result += (b"\r\n" if dice.chance(0.96) else dice.pick([b"\n", b"", b"\r", b"\r\n\r\n"])) + dice.pick(BODIES)
        result += b"\r\n" if dice.chance(0.95) else dice.pick([b"\n", b"", b"\r"])
    result += b"--b--\r\n" if dice.chance(0.8) else dice.pick(ENDS)
    if dice.chance(0.15):
        result = dice.weighted(byte_mutations.ALL)(dice, result)
    return "b", result
