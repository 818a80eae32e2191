# SPDX-License-Identifier: Apache-2.0
"""The last step of a reader: a whole body, its content coding undone."""
from __future__ import annotations

from . import codings
from .conclusion import BROKEN_BODY, WHOLE, Conclusion


def undo_coding(conclusion: Conclusion, max_body: int) -> Conclusion:
    """The conclusion with the body decoded, or broken where that fails or its length is over the limit."""
    wire = conclusion.wire
    names = [name.strip(b" \t").lower() for value in conclusion.values(b"content-encoding") for name in value.split(b",")]
    names = [name.decode("latin-1") for name in names if name]
    coded = [name for name in names if name != "identity"]
    conclusion.body = wire
    if coded and (wire or conclusion.kind != WHOLE):
        _decode(conclusion, names, coded)
    elif coded:
        # Nothing is there to decode: neither the missing end of it, nor a coding that was not asked for, does harm.
        conclusion.points.add("empty coded body")
    if conclusion.kind == WHOLE and len(conclusion.body) > max_body:
        conclusion.kind, conclusion.reason = BROKEN_BODY, f"the body exceeds the limit of {max_body} bytes"
        conclusion.points.add("over the limit")
    return conclusion


def _decode(conclusion: Conclusion, names: list[str], coded: list[str]) -> None:
    try:
        if len(coded) > 1:
            raise codings.Broken("more than one content coding", b"")
        if len(names) > 1:
            conclusion.points.add("identity beside a coding")
        conclusion.body = codings.decode(coded[0], conclusion.wire)
        if conclusion.kind != WHOLE:
            conclusion.body = conclusion.body
    except codings.Broken as error:
        conclusion.body = error.so_far
        if conclusion.kind == WHOLE:
            conclusion.kind, conclusion.reason = BROKEN_BODY, f"content coding: {error}"
