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
    only: str = ""
    """The carrier that it is for, where it is not for both."""


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


def _broken_http2(expected: Conclusion, told: Told) -> bool:
    if _breaks(expected, told):
        return True
    # libcurl 7.88 does not tell what nghttp2 found wrong with a stream whose head it has handed over.
    has_length = bool(expected.values(b"content-length"))
    return expected.is_success and not has_length and told.status == expected.status and expected.began_with(told.body)


def _complete(expected: Conclusion, told: Told) -> bool:
    return told.is_answer and told.status == expected.status and told.body == expected.heard_body


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
    "framing of an interim response": Permission(
        "a 1xx has no body: libcurl would hold its framing against the final answer", _refuses, "transfer"),
    "transfer coding of no body": Permission("libcurl's transfers judge the field before the status", _refuses, "transfer"),
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
        "an error by RFC 7540 5.3.1, which nghttp2 knows; RFC 9113 has no priorities", _broken_http2),
    "acknowledgement that no sender waits for": Permission(
        "nghttp2 takes it for a protocol error; RFC 9113 6.5.3 does not say", _broken_http2),
    "violation behind the end": Permission(
        "what follows the end of the stream in the same read reaches nghttp2 before we are told of the end",
        _broken_http2),
    "many settings": Permission("nghttp2 takes 32 in a frame, RFC 9113 has no limit", _broken_http2),
    "space around a value": Permission(
        "RFC 9113 8.2.1 forbids it; we drop it, and libcurl's transfers may refuse it", _as_otherwise),
    "reset content": Permission("RFC 9110 15.3.6: there is none in a 205, and what comes is dropped", _drops_body),
    "reset connection": Permission("libcurl may meet RST when it writes, before it has read what came", _breaks, "transfer"),
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
        _as_otherwise, "direct"),
    "417 to a body": Permission(
        "a request is not sent again without its Expect, and the answer ends at its head (Docs/Libcurl.md)", _drops_body, "transfer"),
    "field left out": Permission("such a field may be left out, as if it had not been sent: it reaches nobody",
                                 _as_otherwise),
    "HTTP/2 broken": Permission(
        "libcurl 7.88 loses a head when what breaks the stream comes with it; and without content-length it takes "
        "what came for the whole (Docs/Libcurl.md)", _broken_http2),
    "complete by its length": Permission("every byte that content-length announces has come, only END_STREAM has not",
                                         _complete, "transfer"),
    "GOAWAY": Permission("libcurl 7.88 may give a stream up that GOAWAY does not name", _breaks, "transfer"),
}


def _strict(direct: Told, transfer: Told) -> bool:
    """Over the direct carrier no success comes of what libcurl's transfers refuse, or take otherwise."""
    return not direct.is_answer or direct.code is not None


@dataclasses.dataclass
class Apart:
    """What sets the carriers apart where both read the same bytes. Such a difference stands in Docs/Carriers.md."""

    reason: str
    holds: Callable[["Told", "Told"], bool] = _strict


def _reads_less(direct: Told, transfer: Told) -> bool:
    """What is more over the direct carrier, `judge` has held against the second reader."""
    return not transfer.is_answer or direct.body.startswith(transfer.body)


def _strict_or_refused(direct: Told, transfer: Told) -> bool:
    """libcurl refuses what the direct carrier may take: `judge` has held it against the second reader."""
    return _strict(direct, transfer) or not transfer.is_answer


LOST = ("libcurl 7.88 loses the head of an answer whose trailers nghttp2 refuses; over the direct carrier the answer of an "
        "error stands, and a success is refused")

APART = {
    "HTTP/2 broken": Apart(
        "libcurl 7.88 loses a head, or part of a body, that comes with what breaks the stream, and without "
        "content-length takes what came for the whole; the direct carrier tells what was wrong, and keeps the answer of "
        "an error"),
    "complete by its length": Apart(
        "libcurl 7.88 is content with all that content-length announces; the direct carrier wants END_STREAM, too"),
    "acknowledgement that no sender waits for": Apart(
        "nghttp2 takes it for a protocol error; libcurl 7.88 is content where all that content-length announces has come "
        "before it"),
    "GOAWAY below the stream": Apart(
        "libcurl 7.88 may read on in a stream that GOAWAY excludes, or lose its head; over the direct carrier the request "
        "is sent again, whatever its method", _strict_or_refused),
    "GOAWAY": Apart("libcurl 7.88 may give a stream up that GOAWAY does not name", _reads_less),
    "reset connection": Apart(
        "libcurl may meet RST when it writes, before it has read what came; the direct carrier reads first",
        _strict_or_refused),
    "control character": Apart(LOST),
    "name that is no token": Apart(LOST),
    "length in trailers": Apart(LOST),
    "stream that depends on itself": Apart(
        "an error by RFC 7540 5.3.1; the direct carrier tells the server that it knows no priorities (RFC 9218 2.1)",
        _reads_less),
    "PRIORITY out of form": Apart(
        "an error by RFC 9113 6.3; the direct carrier tells the server that it knows no priorities (RFC 9218 2.1)",
        _reads_less),
    "framing of an interim response": Apart(
        "the direct carrier goes by the status; libcurl would hold the framing of a 1xx against the final answer",
        _strict_or_refused),
    "transfer coding of no body": Apart("the transfers refuse what the direct carrier ignores", _strict_or_refused),
    "length beside a transfer coding": Apart(
        "in an answer without a body the fields mean nothing to the direct carrier; the transfers refuse them",
        _strict_or_refused),
    "length that is no number": Apart(
        "in an answer without a body the field means nothing to the direct carrier; the transfers refuse it",
        _strict_or_refused),
    "space around a value": Apart("the direct carrier drops it; libcurl leaves it to nghttp2", _strict_or_refused),
    "417 to a body": Apart("libcurl's transfers end at the head of a 417, lest libcurl sends again by itself",
                           _reads_less),
}


def allows(name: str, expected: Conclusion, told: Told, carrier: str) -> bool:
    permission = TABLE.get(name)
    if permission is None or permission.only not in ("", carrier):
        return False
    if permission.holds is not _as_otherwise:
        return permission.holds(expected, told)
    other = expected.otherwise
    return other is not None and (_as_otherwise(expected, told) or
                                  any(allows(point, other, told, carrier) for point in other.points))


def sets_apart(name: str, direct: Told, transfer: Told) -> bool:
    return name in APART and APART[name].holds(direct, transfer)
