# SPDX-License-Identifier: Apache-2.0
"""Compares what Lastro concluded with what the second reader did."""
from __future__ import annotations

import base64
import dataclasses
import re

from . import permitted
from .case import GOOD, Case
from .conclusion import BROKEN_BODY, BROKEN_HEAD, WHOLE, Conclusion

FRAMING = ("content-length", "transfer-encoding")
SPACE = re.compile("[ \t]+")
"""A fold becomes one space or more."""
OTHER = re.compile("[^\x00-\x7f]+")
"""What is not UTF-8 is read as ISO 8859-1, by the line or by the value."""
REFUSALS = {
    "connection_lost", "malformed_response", "truncated_body", "http2_failure", "bad_content_encoding",
    "receive_failed", "body_too_large", "decompression_bomb", "head_too_large", "too_many_interim_responses"
}
"""How an answer is refused. Every other code would be a wrong story about it."""


@dataclasses.dataclass
class Told:
    """A result of `lastro batch`."""

    code: str | None
    status: int | None
    body: bytes
    fields: list[tuple[str, str]]
    message: str

    def __init__(self, result: dict):
        error = result.get("error") or {}
        self.code, self.message = error.get("code"), error.get("message", "")
        self.status = result.get("status")
        self.fields = [(name.lower(), value) for name, value in result.get("headers") or []]
        self.body = base64.b64decode(result.get("body_base64") or "")

    @property
    def is_answer(self) -> bool:
        return self.code in (None, "unexpected_status")

    def __str__(self) -> str:
        if self.is_answer:
            return f"answer {self.status}, {len(self.body)} bytes {self.body[:60]!r}, {str(self.fields)[:400]}"
        return f"{self.code}, status {self.status} ({self.message})"


@dataclasses.dataclass
class Verdict:
    name: str
    """`agreed: …`, `permitted: …` or `wrong: …`."""
    @property
    def is_wrong(self) -> bool:
        return self.name.startswith("wrong")


def judge(case: Case, told: Told) -> Verdict:
    expected = case.expected
    wrong = _difference(case, expected, told)
    if not wrong:
        return Verdict("agreed: " + (told.code or "answer"))
    for name in sorted(expected.points):
        if permitted.allows(name, expected, told):
            return Verdict("permitted: " + name)
    return Verdict("wrong: " + wrong)


def _difference(case: Case, expected: Conclusion, told: Told) -> str | None:
    if expected.kind == BROKEN_HEAD:
        return _refused(told, "a broken head")
    if expected.redirects and case.follows:
        return _redirect(case, told)
    return difference(expected, told)


def difference(expected: Conclusion, told: Told) -> str | None:
    """Where no redirect is to be followed."""
    if expected.kind == BROKEN_HEAD:
        return _refused(told, "a broken head")
    if expected.kind == BROKEN_BODY and expected.is_success:
        return _refused(told, "a broken body")
    if not told.is_answer:
        return f"refused a {expected.kind} ({told.code})" if expected.kind == WHOLE else f"hid the status ({told.code})"
    if told.status != expected.status:
        return "another status"
    if told.is_answer and (told.code is None) != expected.is_success:
        return "success and failure confused"
    if expected.kind == WHOLE:
        return "another body" if told.body != expected.body else _other_fields(expected, told)
    # The body of an error that breaks off does not hide the status: what came is told.
    return None if expected.began_with(told.body) else "another body of a broken error"


def _other_fields(expected: Conclusion, told: Told) -> str | None:
    """But for the framing, which h11 hands on in its own form, and which the body is proof of."""
    wanted = sorted((name.decode("latin-1").lower(), text(value.strip(b" \t"))) for name, value in expected.fields
                    if not name.startswith(b":"))
    one, other = ([(name, OTHER.sub("?", SPACE.sub(" ", value))) for name, value in fields if name not in FRAMING]
                  for fields in (wanted, sorted(told.fields)))
    return None if one == other else "other fields"


def text(value: bytes) -> str:
    """A value that is not UTF-8 is read as ISO 8859-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _refused(told: Told, what: str) -> str | None:
    if told.is_answer:
        return f"accepted {what}"
    return None if told.code in REFUSALS else f"{told.code} for {what}"


def _redirect(case: Case, told: Told) -> str | None:
    good = b"" if case.method == "HEAD" else GOOD % b"target"
    if told.code is None and told.status == 200 and told.body == good:
        return None
    return f"a redirect that must be followed: {told.code or 'another answer'}"
