# SPDX-License-Identifier: Apache-2.0
"""Cases and findings for people, and for other programs."""
from __future__ import annotations

from . import h2_reader
from .case import Case
from .lane import Finding

FRAMES = [
    "DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
    "CONTINUATION"
]


def case(case: Case) -> str:
    lines = [
        f"case {case.index}: {case.protocol}, {case.method}, limit {case.max_body}, mutations {case.mutations or 'none'}, "
        f"then {case.ending}{', redirects followed' if case.follows else ''}{', behind a redirect' if case.is_behind else ''}",
        f"expected: {case.expected}"
    ]
    data = case.draft.render(h2_reader.STREAM + 2 * case.is_behind) if case.draft else case.data
    if not case.draft:
        lines.append(f"before: {case.seed[:400]!r}")
        return "\n".join(lines + [f"answer: {data[:4000]!r}"])
    for piece in h2_reader.split(data):
        if len(piece) < 9:
            lines.append(f"  {piece!r}")
            continue
        name = FRAMES[piece[3]] if piece[3] < len(FRAMES) else f"type {piece[3]}"
        length, stream = int.from_bytes(piece[:3], "big"), int.from_bytes(piece[5:9], "big")
        lines.append(f"  {name} flags {piece[4]:#x} stream {stream} length {length} {piece[9:300]!r}")
    return "\n".join(lines)


def record(finding: Finding) -> dict:
    result = {
        "case": finding.index,
        "alone": finding.alone,
        "step": finding.step,
        "what": finding.what,
        "told": finding.told
    }
    if found := finding.case:
        data = found.draft.render(h2_reader.STREAM + 2 * found.is_behind) if found.draft else found.data
        result |= {
            "protocol": found.protocol,
            "method": found.method,
            "mutations": found.mutations,
            "ending": found.ending,
            "expected": str(found.expected),
            "answer": data.hex()
        }
    return result
