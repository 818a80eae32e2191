# SPDX-License-Identifier: Apache-2.0
"""Where HTTP/1.1 may be read otherwise than h11 does: looked for in the bytes, apart from both readers."""
from __future__ import annotations

from .conclusion import Conclusion


def of(answer: bytes, conclusion: Conclusion) -> set[str]:
    return set()
