# SPDX-License-Identifier: Apache-2.0
"""Event streams."""
from fuzz import byte_mutations

NAMES = [
    b"data", b"data", b"data", b"event", b"id", b"retry", b"", b"comment", b"Data", b"data ", b" data", b"\xef\xbb\xbfdata",
    b"message"
]
VALUES = [
    b"a", b"b c", b" a", b"  a", b"a ", b"", b"1000", b"-1", b"1.5", b"\t1", b"a:b", b"caf\xc3\xa9", b"a\x00b", b"\xe2\x80\xa8",
    b"\xc2\x85", b"a\x0bb", b"a\x0cb", b"\x1c", b"\xf0\x9f\x98\x80", b"{}", b"+1", b"1_0", b"\xd9\xa3"
]
BROKEN = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"a\xe2\x82b", b"\xf8\x88"]
ENDS = [(20, b"\n"), (6, b"\r\n"), (4, b"\r"), (1, b"\n\r"), (1, b"")]


def make(dice):
    end = dice.weighted(ENDS)
    values = VALUES + BROKEN if dice.chance(0.1) else VALUES
    result = b"\xef\xbb\xbf" * dice.weighted([(12, 0), (1, 1), (1, 2)])
    for _ in range(dice.between(1, 5)):
        for _ in range(dice.between(0, 4)):
            colon = dice.weighted([(12, b": "), (5, b":"), (1, b""), (1, b" :"), (1, b":  "), (1, b":\t")])
            result += dice.pick(NAMES) + colon + dice.pick(values) + (end if dice.chance(0.95) else dice.weighted(ENDS))
        result += end if dice.chance(0.95) else dice.weighted(ENDS)
    if dice.chance(0.2):
        result = dice.weighted(byte_mutations.ALL)(dice, result)
    return "-", result
