# SPDX-License-Identifier: Apache-2.0
"""The last step of a reader: the body, its content coding undone, held to its limit."""
from __future__ import annotations

from . import codings
from .conclusion import BROKEN_BODY, WHOLE, Conclusion

NO_CODINGS = (b"", b"identity", b"none", b"utf-8", b"aws-chunked")
"""What stands for the bytes as they are: Docs/Wire.md."""


def undo_coding(conclusion: Conclusion, max_body: int) -> Conclusion:
    """The conclusion with the body decoded, or broken where that fails or its length is over the limit."""
    names = [
        name.strip(b" \t").lower() for value in conclusion.values(b"content-encoding") for name in value.split(b",")
    ]
    coded = [name.decode("latin-1") for name in names if name not in NO_CODINGS]
    conclusion.body = conclusion.wire
    if conclusion.status == 205:
        conclusion.points.add("reset content")
    if coded and conclusion.wire:
        conclusion.body, fault = _decode(coded, conclusion.wire)
        if fault and conclusion.kind == WHOLE:
            conclusion.kind, conclusion.reason = BROKEN_BODY, f"content coding: {fault}"
    elif coded and conclusion.kind == WHOLE:
        conclusion.points.add("empty coded body")
    if conclusion.heard is not None:
        conclusion.heard_body = _decode(coded, conclusion.heard)[0] if coded else conclusion.heard
    if "longer than its length" in conclusion.points:
        announced = conclusion.heard[:int(conclusion.values(b"content-length")[0])]
        conclusion.announced_body = _decode(coded, announced)[0] if coded else announced
    if len(conclusion.body) > max_body and conclusion.status is not None:
        _cut(conclusion, max_body)
    return conclusion


def _decode(coded: list[str], data: bytes) -> tuple[bytes, str | None]:
    if len(coded) > 1:
        return b"", "more than one content coding"
    try:
        return codings.decode(coded[0], data), None
    except codings.Broken as error:
        return error.so_far, str(error)


def _cut(conclusion: Conclusion, max_body: int) -> None:
    """A body over the limit is refused; that of an error is cut."""
    if conclusion.is_success and conclusion.kind == WHOLE:
        conclusion.kind, conclusion.reason = BROKEN_BODY, f"the body exceeds the limit of {max_body} bytes"
    elif conclusion.kind == WHOLE:
        conclusion.body = conclusion.body[:max_body]
