# SPDX-License-Identifier: Apache-2.0
"""Responses for the readers of heads and chunks, with the fuzzer's mutations."""
from __future__ import annotations

from fuzz import byte_mutations, h1_draft, h1_mutations
from fuzz.dice import Dice

# Those that change what only decoding sees.
UNSEEN = (h1_mutations.coding, h1_mutations.corrupt_body, h1_mutations.cut_body, h1_mutations.many_fields)
STRUCTURE = [(weight, mutation) for weight, mutation in h1_mutations.STRUCTURE if mutation not in UNSEEN]
NUMBER_FORMS = [
    b"+%d", b"-%d", b"0%d", b"%d ", b"\t%d", b"%d;", b"0x%d", b"%d_0", b"%d.0", b"%de0", b'"%d"', b"%d,", b",%d", b"%d, %d",
    b"%d,%d,%d", b"%d %d", b"%d, 7", b"000000000000000000000000%d", b"99999999999999999999%d", b"%d\x0b", b"\xc2\xa0%d",
    b"\xd9\xa3%d", b"%dabc", b"1_%d"
]
STATUSES = [b"099", b"100", b"101", b"102", b"103", b"199", b"204", b"205", b"206", b"299", b"304", b"404", b"600", b"999"]


def number_form(dice: Dice, draft: h1_draft.Draft) -> None:
    form = dice.pick(NUMBER_FORMS)
    line = b"Content-Length: " + form.replace(b"%d", b"%d" % len(draft.body))
    at = draft.field_index(b"content-length")
    if at is None or dice.chance(0.2):
        draft.lines.append(line)
    else:
        draft.lines[at] = line


def status(dice: Dice, draft: h1_draft.Draft) -> None:
    draft.lines[0] = b" ".join([draft.lines[0].split(b" ")[0], dice.pick(STATUSES)] + [b"X"] * dice.below(2))


def token_byte(dice: Dice, draft: h1_draft.Draft) -> None:
    """Any byte in a name, at its ends, or in a value."""
    byte, at = dice.bytes(1), dice.between(1, len(draft.lines))
    form = dice.pick([b"X%sY: v", b"%sX: v", b"X%s: v", b"X: a%sb", b"X: %sv", b"X: v%s", b"X:%s", b"Set-Cookie: a=%s"])
    draft.lines.insert(at, form.replace(b"%s", byte))


def chunk_byte(dice: Dice, draft: h1_draft.Draft) -> None:
    """Any byte in the line of a chunk, beside its size or in its extension."""
    if draft.chunks:
        chunk, byte = dice.pick(draft.chunks), dice.bytes(1)
        form = dice.pick([b"%s", b";%s", b";a%s", b";a=%s", b";a=b%s", b';a="%s"', b" %s", b";a=b;%s", b'; a="b\\%s"'])
        chunk.extension = form.replace(b"%s", byte)
    else:
        number_form(dice, draft)


def make(dice: Dice) -> tuple[str, bytes]:
    method = dice.weighted([(9, "GET"), (1, "HEAD")])
    draft = h1_draft.draft(dice, method, b"/target")
    draft.lines = [line for line in draft.lines if len(line) < 300]
    _shorten(draft)
    kind = dice.weighted([(1, "none"), (12, "structure"), (4, "bytes"), (3, "both")])
    if kind in ("structure", "both"):
        for _ in range(dice.weighted([(7, 1), (2, 2), (1, 3)])):
            own = dice.weighted([(4, None), (2, number_form), (1, status), (1, token_byte), (2, chunk_byte)])
            (own or dice.weighted(STRUCTURE))(dice, draft)
    data = draft.render()
    if kind in ("bytes", "both"):
        for _ in range(dice.weighted([(7, 1), (2, 2), (1, 3)])):
            data = dice.weighted(byte_mutations.ALL)(dice, data)
    return method, data


def _shorten(draft: h1_draft.Draft) -> None:
    """Bodies of at most some 200 bytes: what delimits them is of interest."""
    at = draft.field_index(b"content-length")
    if draft.chunks:
        draft.chunks = [chunk for chunk in draft.chunks if len(chunk.data) <= 64][:4]
    elif len(draft.body) > 200:
        if at is not None:
            draft.lines[at] = b"Content-Length: %d" % (len(draft.body) % 200)
        draft.body = draft.body[:len(draft.body) % 200]
