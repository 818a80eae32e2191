# SPDX-License-Identifier: Apache-2.0
"""Cache-Control as readers read it differently."""
from .classes import Class as _Class

NUMBERS = (b"max-age", b"s-maxage", b"min-fresh", b"stale-if-error", b"stale-while-revalidate")
NAMES = rb"(max-age|s-maxage|max-stale|min-fresh|stale-if-error|stale-while-revalidate)"


def Class(name, reason, *values, data):
    """In a value, `N=` stands for each directive with a number."""
    lines = [
        each for value in values for each in ([value.replace(b"N", number) for number in NUMBERS] if b"N" in value else [value])
    ]
    rows = [(f"`{each.decode('latin-1').encode('unicode_escape').decode()}`", each) for each in lines]
    return _Class(name, reason, *rows, data=data, argument="-")


CACHE = [
    Class("number without digits alone", "RFC 9111 §4.2.1: an invalid number may count as 0, the meaning with the least reuse",
          b"N=x", b"N=", b"N", b"N=-1", b"N=+1", b"N=1.5", b"N=1_0", b"N=\"60", b"N=60;", b"N=6 0", b"N=\"6\\0\"", b"N=\xd9\xa3",
          b"N=60=1", b"N=\"60\"", b"N=0x10", b"N=true", b"N=1e3", b"N=\"\"", b"N='60'", b"N=\"a, b\"", b"N=\"60\"x", b"N=\" 60\"",
          b"N=\"-1\"", data=rb"(?i)%s[ \t]*(?!=\d+[ \t]*(,|\Z))" % NAMES),
    Class("blanks around the equals sign", "RFC 9111 §5.2: none are allowed; the argument counts as 0", b"N = 60", b"N= 60",
          b"N =60", b"N=\t60", b"no-cache = \"a\"", b"private =", b"no-store =x", b"public = x", data=rb"[ \t]=|=[ \t]"),
    Class("repeated directive", "RFC 9111 §4.2.1: the first, or the response counts as stale", b"N=60, N=1", b"N=60, N",
          b"N, N=60", b"N=x, N=60", b"N=60, N=x", b"no-cache=\"a\", no-cache", b"N=1, N=60, N=1", b"N=, N=60", b"N=60, N=",
          b"private=\"a\", private=x", data=rb"(?is)\b([a-z-]+)\b.*,.*\b\1\b|N"),
    Class("upper case", "RFC 9111 §5.2: names are compared in any case", b"NO-STORE", b"Stale-If-Error=1", b"Min-Fresh=1",
          b"Stale-While-Revalidate=1", b"Immutable", b"Must-Understand", b"Proxy-Revalidate", b"Only-If-Cached", b"Max-Age=60",
          b"Max-Age", b"PUBLIC, Max-Age=60", b"max-age=60, Max-Age=1", b"Max-Age=1, max-age=60", b"S-Maxage=60", b"Private",
          b"No-Cache=\"a\"", b"No-Store=x", b"MUST-REVALIDATE", data=rb"[A-Z]"),
    Class("number of any size", "RFC 9111 §1.2.2: over 2^31 it counts as 2^31", b"N=99999999999999999999", b"N=2147483649",
          b"N=01", data=rb"\d{10}|=0\d"),
    Class("quoted list", "RFC 9110 §5.6.4: commas in quotes separate nothing", b"no-cache=\"a, no-store\"", b"private=\"a, b\"",
          b"unknown=\"a, no-store\"", b"unknown=\"a, max-age=60\"", b"no-cache=\"a, b\", N=60",
          b"private=\"max-age=1, x\", max-age=60", b"x=\"a, public, b\"", b"x=\"a, private\"", b"x=\"a, no-cache\"",
          b"x=\"a,must-revalidate\"", b"N=\"a, no-store\"", b"no-cache=\"\"", b"private=\"\"", b"\"a, no-store, b\"",
          b"x=\"a, immutable\"", b"x=\"a, proxy-revalidate\"", b"x=\"a, only-if-cached\"", b"x=\"\\\", no-store, \"",
          b"x=\"a, N=60\"", b"x=\"a, must-understand\"", b"private=\"a, no-store\", N=1", data=rb"\""),
    Class("quote that does not end",
          "RFC 9110 §5.6.4: no quoted string; Lastro reads on after its comma, so that it hides no directive", b"x=\"a, no-store",
          b"\"no-store", b"\"public", b"\"max-age=60", b"no-cache=\"a, private", b"N=\"60, no-store", b"\"N=60", b"x=\", N=60",
          b"no-store\", private", b"private\"", b"\", public", b"x=\"a\", y=\"b, no-cache", b"x\", N=60", b"\"no-cache",
          b"\"immutable", b"\"must-revalidate", b"\"private, public", b"\" no-store", b"\"N", b"x=\"a, N", b"\"must-understand",
          b"\"proxy-revalidate", b"\"only-if-cached", b"no-cache=\"", b"no-cache\"", b"private=\"a", data=rb"\""),
    Class(
        "flag with an argument", "RFC 9111 §5.2: it counts without it", b"no-store=x", b"no-store=", b"public=0",
        b"must-revalidate=true", b"immutable=\"x\"", b"no-cache=a", b"private=a", b"no-cache=", b"private=", b"only-if-cached=1",
        b"proxy-revalidate=x", b"must-understand=1", b"no-store=\"\"", b"no-store=true", b"no-cache=0", b"must-revalidate=",
        b"immutable=0", b"public=\"x\"", b"only-if-cached=", data=
        rb"(?i)(no-store|no-cache|public|private|must-revalidate|proxy-revalidate|must-understand|immutable|only-if-cached)[ \t]*="
    ),
    Class("another separator", "RFC 9110 §5.6.1: commas separate. A name with a blank or `;` in it is no token, and is ignored",
          b"no-store;max-age=60", b":no-store", b":N=60", b"no-store:", b"N:60", b"(public)", b"no-store; private",
          b"no-store private", b"no-store public, max-age=60", b"N=60;no-store", b"N=60 no-store", b"public;",
          b"no-cache private", b"no-store\xa0", b"no-store\x0b", b"\x0bno-store", b"public; N=60", b"private N=60", b"no-cache;x",
          b"max-age 60", b"N 60", b"no-store\x1c, public", b"private\x0c", b"immutable\x85", b"\x0cN=60", b"N\x0b=60",
          b"N=60\x0b", b"N=60 , public", b"N=60\xa0", b"N\xa0=60", b"must-revalidate x", b"immutable;", b"only-if-cached;x",
          b"proxy-revalidate;", b"must-understand x", b"N=\x1c60", b"\xc2\xa0no-store", b"must-revalidate\x0b",
          b"only-if-cached\x0c", b"max-age\x00=60", b"N;=60", b"N;", data=rb"[^\w,=\"-]"),
    Class("underscore", "RFC 9111 §5.2: another name", b"max_age=60", b"max_age", b"no_store", b"min_fresh=1", b"must_revalidate",
          b"s_maxage=1", b"stale_if_error=1", b"max_age=60, max-age=1", b"max-age=60, max_age=1", b"no_cache",
          b"stale_while_revalidate=1", b"only_if_cached", b"max_age=x", data=rb"_"),
]
