# SPDX-License-Identifier: Apache-2.0
"""The differences between the two readers that are right, each with its reason. Everything else is a failure.

A point is put down by the second reader (`h1_points.py`, `h2_reader.py`, `undo_coding.py`) where an answer has it. It permits
one way to differ, which is checked too.
"""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Callable

from .conclusion import Conclusion
from .h1_points import CONTROL

if TYPE_CHECKING:
    from .judge import Told


@dataclasses.dataclass
class Permission:
    reason: str
    holds: Callable[[Conclusion, "Told"], bool]


def _refuses(expected: Conclusion, told: Told) -> bool:
    return not told.is_answer


def _breaks(expected: Conclusion, told: Told) -> bool:
    """Refused, or the answer of an error whose body broke off."""
    return not told.is_answer or not expected.is_success and told.status == expected.status and expected.began_with(
        told.body)


def _breaks_or_drops_cookies(expected: Conclusion, told: Told) -> bool:
    """Refused, or read without the cookies that have a control character (Docs/Wire.md)."""
    from .judge import difference
    fields = [field for field in expected.fields if field[0].lower() != b"set-cookie" or not CONTROL.search(field[1])]
    return _breaks(expected, told) or difference(dataclasses.replace(expected, fields=fields), told) is None


def _as_otherwise(expected: Conclusion, told: Told) -> bool:
    from .judge import difference
    return not told.is_answer or difference(expected.otherwise, told) is None


def _announced(expected: Conclusion, told: Told) -> bool:
    if _breaks(expected, told):
        return True
    return told.is_answer and told.status == expected.status and told.body == expected.announced_body


def _drops_body(expected: Conclusion, told: Told) -> bool:
    return told.is_answer and told.status == expected.status and not told.body


TABLE = {
    "control character": Permission("h11 and h2 let them pass; RFC 9110 5.5 calls them dangerous, and we refuse them",
                                    _breaks_or_drops_cookies),
    "length beside a transfer coding": Permission(
        "RFC 9112 6.3 lets a recipient prefer the coding; we refuse both together", _refuses),
    "transfer coding before HTTP/1.1": Permission(
        "RFC 9112 6.1: the framing is to be taken for faulty; h11 takes it as it is", _refuses),
    "length that is no number": Permission("h11 looks at it only where it delimits a body; we refuse it in any answer",
                                           _refuses),
    "chunk line": Permission(
        "RFC 9112 7.1: the size in up to 16 digits, extensions by their grammar, 4 KiB; h11 is lenient", _breaks),
    "folded trailer": Permission("RFC 9112 5.2 lets a recipient refuse folds; in trailers we do", _breaks),
    "trailer line that ends in LF": Permission(
        "RFC 9112 2.2 lets a recipient take LF for a line end; of chunks we want CRLF", _breaks),
    "unknown version": Permission("h11 reads every version of two digits; we know 1.0 and 1.1", _refuses),
    "many fields": Permission("our limit is 500 fields, h11 and h2 have none", _breaks),
    "many interim responses": Permission("we take 32 interim responses at once, h11 and h2 any number", _refuses),
    "folded framing field": Permission(
        "RFC 9112 5.2 lets a recipient refuse folds; in fields that frame the body we do", _refuses),
    "length of an interim response": Permission("nghttp2 refuses a content-length in a 1xx, h2 does not look", _breaks),
    "name that is no token": Permission("RFC 9110 5.6.2; h2 knows only the characters that RFC 9113 8.2.1 names",
                                        _breaks),
    "length in trailers": Permission(
        "nghttp2 holds it against the body, h2 does not look; RFC 9110 6.5.1 forbids it there", _breaks),
    "length repeated": Permission("nghttp2 refuses a second content-length, RFC 9110 8.6 lets equal ones pass",
                                  _breaks),
    "length of no content": Permission("RFC 9110 8.6 forbids it in a 204; nghttp2 refuses it, h2 does not look",
                                       _breaks),
    "stream that depends on itself": Permission(
        "an error by RFC 7540 5.3.1, which nghttp2 knows; RFC 9113 has no priorities", _breaks),
    "acknowledgement that no sender waits for": Permission(
        "nghttp2 takes it for a protocol error; RFC 9113 6.5.3 does not say", _breaks),
    "violation behind the end": Permission(
        "what follows the end of the stream in the same read reaches nghttp2 before we are told of the end",
        _breaks),
    "many settings": Permission("nghttp2 takes 32 in a frame, RFC 9113 has no limit", _breaks),
    "space around a value": Permission(
        "RFC 9113 8.2.1 forbids it; we drop it", _as_otherwise),
    "reset content": Permission("RFC 9110 15.3.6: there is none in a 205, and what comes is dropped", _drops_body),
    "GOAWAY below the stream": Permission("a server may answer all the same what it says it has not processed",
                                          _as_otherwise),
    "longer than its length": Permission("once all that content-length announces has come, nobody reads on",
                                         _announced),
    "empty coded body": Permission(
        "what was not asked for is refused at the head, before it is known that nothing follows", _breaks),
    "frame of another stream": Permission(
        "nghttp2 passes over most that comes for streams that are closed or were never opened", _as_otherwise),
    "PRIORITY out of form": Permission(
        "nghttp2 passes over PRIORITY frames once the server was told that we know no priorities (RFC 9218 2.1)",
        _as_otherwise),
    "field left out": Permission("such a field may be left out, as if it had not been sent: it reaches nobody",
                                 _as_otherwise),
    "HTTP/2 broken": Permission(
        "nghttp2 and h2 find another fault first, or read a frame more before they find it", _breaks),
}


def allows(name: str, expected: Conclusion, told: Told) -> bool:
    permission = TABLE.get(name)
    if permission is None:
        return False
    if permission.holds is not _as_otherwise:
        return permission.holds(expected, told)
    other = expected.otherwise
    return other is not None and (_as_otherwise(expected, told) or
                                  any(allows(point, other, told) for point in other.points))
