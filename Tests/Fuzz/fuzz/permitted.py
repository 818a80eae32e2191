# SPDX-License-Identifier: Apache-2.0
"""The differences between the two readers that are right, each with its reason. Everything else is a failure."""
from __future__ import annotations

from .conclusion import BROKEN_BODY, WHOLE, Conclusion


def _refuses(expected: Conclusion, told) -> bool:
    return not told.is_answer


def _same_or_refuses(expected: Conclusion, told) -> bool:
    return not told.is_answer or told.status == expected.status and told.body == expected.body


def _takes_for_whole(expected: Conclusion, told) -> bool:
    return told.is_answer and told.status == expected.status and expected.body.startswith(told.body)


TABLE = {
}


def allows(name: str, expected: Conclusion, told) -> bool:
    return name in TABLE and TABLE[name][0](expected, told)
