# SPDX-License-Identifier: Apache-2.0
"""The values of Set-Cookie."""
from fuzz import byte_mutations

PAIRS = [
    b"a=b", b"a=b", b"a=b", b"a=b", b"a=", b"=b", b"a", b"", b"=", b" a = b ", b'a="b"', b'a="b;c"', b'a="b', b"a=b=c", b"a=b c",
    b"a=b,c", b"a b=c", b"a\tb=c", b"a=\tb", b"a=caf\xc3\xa9", b"a=\xff", b"a=\x01", b"a=\x7f", b"\xc3\xa9=b", b"a=b\\c",
    b'a="b\\"c"', b"a[]=b", b"(a)=b", b"a@=b", b"__Host-a=b", b"$a=b", b"a=%41", b"a=b, c=d", b"path=x", b"expires=x", b"secure",
    b"a" * 300 + b"=b", b"a={b}", b"a:b=c", b"a=\"\"", b"a/b=c", b"a=b\x00"
]
NAMES = [
    b"Path", b"path", b"PATH", b"Domain", b"Expires", b"Max-Age", b"Secure", b"HttpOnly", b"SameSite", b"Unknown", b"Version",
    b"Comment", b" Path ", b"Max-age", b"Partitioned"
]
VALUES = [
    b"", b"/", b"/a", b"a", b"/a b", b'"/a"', b".example.com", b"example.com", b"EXAMPLE.com", b"..a", b"a,b", b"0", b"1", b"-1",
    b"3600", b"+1", b"1.5", b"01", b"99999999999999999999", b"1 ", b"x", b"lax", b"Strict", b"NONE", b'"lax"', b"/\xc3\xa9",
    b"\xff", b"localhost", b"127.0.0.1", b"1e3", b"a:80", b"\xd9\xa3", b"/a=b", b"true"
]
DAYS = [b"Sun, ", b"Sunday, ", b"Sun,", b"", b"sun ", b"Xxx, ", b"Sun "]
MONTHS = [b"Nov", b"nov", b"NOV", b"November", b"Jan", b"Feb", b"11", b"Xyz", b"Dec", b"Sept"]
ZONES = [b" GMT", b"", b" UTC", b" +0100", b" PST", b" Z", b"GMT", b" gmt"]


def date(dice):
    separator = dice.weighted([(6, b" "), (4, b"-"), (1, b"/"), (1, b"")])
    day = dice.pick([b"06", b"6", b"31", b"30", b"00", b"32", b"29"])
    year = dice.pick([b"1994", b"2036", b"94", b"36", b"70", b"69", b"1600", b"1601", b"9999", b"0", b"194", b"99", b"2100"])
    time = dice.pick([
        b"08:49:37", b"8:49:37", b"08:49", b"24:00:00", b"08:60:00", b"08:49:60", b"08:49:37.5", b"084937", b"8:4:7",
        b"08:49:37 PM"
    ])
    parts = [dice.pick(DAYS) + day + separator + dice.pick(MONTHS) + separator + year, time]
    if dice.chance(0.1):
        parts.reverse()
    return b" ".join(parts) + dice.weighted([(10, b" GMT"), (3, dice.pick(ZONES))])


def make(dice):
    result = dice.pick(PAIRS)
    for _ in range(dice.weighted([(2, 0), (6, 1), (3, 2), (1, 4)])):
        name = dice.pick(NAMES)
        value = date(dice) if name == b"Expires" and dice.chance(0.9) else dice.pick(VALUES)
        result += dice.weighted([(8, b"; "), (2, b";"), (1, b" ; "), (1, b";;"), (1, b";\t")]) + name
        if dice.chance(0.85) and name not in (b"Secure", b"HttpOnly") or dice.chance(0.1):
            result += dice.weighted([(10, b"="), (1, b" = "), (1, b"== ")]) + value
    if dice.chance(0.12):
        result = dice.weighted(byte_mutations.ALL)(dice, result)
    return "-", result.replace(b"\n", b"").replace(b"\r", b"")
