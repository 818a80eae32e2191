# SPDX-License-Identifier: Apache-2.0
"""The values of Cache-Control."""
from fuzz import byte_mutations

NAMES = [
    b"max-age", b"max-age", b"s-maxage", b"max-stale", b"min-fresh", b"stale-if-error", b"stale-while-revalidate", b"no-cache",
    b"no-store", b"private", b"public", b"must-revalidate", b"proxy-revalidate", b"must-understand", b"immutable",
    b"only-if-cached", b"no-transform", b"unknown", b"Max-Age", b"NO-STORE", b"max_age", b"no-store "
]
VALUES = [
    b"0", b"1", b"60", b"31536000", b"-1", b"+1", b"1.5", b"01", b'"60"', b'"60', b"60;", b"", b"x", b"2147483648",
    b"99999999999999999999", b'"set-cookie"', b'"a, b"', b"a", b" 60", b"60 ", b'"6\\0"', b"6 0", b"'60'", b"1e3", b"0x10",
    b"\xd9\xa3", b"true", b'""', b'"no-store"', b'"a, no-store"', b"60=1", b"1_0"
]
BETWEEN = [(12, b", "), (4, b","), (1, b" "), (1, b";"), (1, b"; "), (1, b",,"), (1, b" ,\t"), (1, b",\t")]


def make(dice):
    result = dice.weighted([(20, b""), (1, b" "), (1, b","), (1, b"\t"), (1, b'"')])
    for number in range(dice.weighted([(4, 1), (5, 2), (3, 3), (1, 5)])):
        if number:
            result += dice.weighted(BETWEEN)
        name = dice.pick(NAMES)
        has_value = name.lower().startswith((b"max", b"s-", b"min", b"stale")) if dice.chance(0.9) else dice.chance(0.5)
        result += name + (dice.weighted([(14, b"="), (1, b" = "), (1, b"= "),
                                         (1, b" =")]) + dice.pick(VALUES) if has_value else b"")
    if dice.chance(0.1):
        result = dice.weighted(byte_mutations.ALL)(dice, result)
    return "-", result.replace(b"\n", b"").replace(b"\r", b"")
