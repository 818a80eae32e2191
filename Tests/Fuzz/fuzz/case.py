# SPDX-License-Identifier: Apache-2.0
"""One case: a request, the answer it gets, and what must be concluded. A pure function of seed and index."""
from __future__ import annotations

import dataclasses

from . import certificate, h1_draft, h1_mutations, h1_points, h1_reader, h2_draft, h2_mutations, h2_reader, hpack_writer
from .conclusion import BROKEN_BODY, UNFINISHED, WHOLE, Conclusion
from .dice import Dice
from .h1_reader import CLEAN, CUT, KEPT, RESET
from .h2_draft import END_HEADERS, END_STREAM, HEADERS, Frame

PLAIN, ENCRYPTED, HTTP2 = "http/1.1", "http/1.1 over TLS", "http/2"
LIMIT = 1 << 20
"""Of a body, where the case says nothing else."""
GOOD = b"a good answer to %s"


@dataclasses.dataclass
class Answer:
    segments: list[bytes]
    ending: str = KEPT


@dataclasses.dataclass
class Case:
    index: int
    protocol: str
    method: str
    max_body: int
    mutations: list[str]
    expected: Conclusion
    ending: str
    follows: bool
    """Whether redirects are followed: only where the target is surely ours."""
    is_behind: bool = False
    """Whether the answer is that of a redirect's target."""
    data: bytes = b""
    """HTTP/1.1: the answer."""
    cuts: list[int] = dataclasses.field(default_factory=list)
    draft: h2_draft.Draft | None = None
    """HTTP/2: the answer."""
    seed: bytes = b""
    """HTTP/1.1: the answer before it was changed, which is sent first."""
    seed_fields: list[tuple[bytes, bytes]] = dataclasses.field(default_factory=list)
    seed_expected: Conclusion = dataclasses.field(default_factory=lambda: Conclusion(WHOLE))

    @property
    def address(self) -> str:
        addresses = certificate.ADDRESSES
        return addresses[self.index % len(addresses)] if self.protocol == HTTP2 else addresses[0]

    @property
    def target(self) -> bytes:
        return b"/%d/target" % self.index

    def answer(self, step: str, stream: int) -> Answer:
        """What the server says at a step: `before`, `case`, `target` or `after`."""
        if self.protocol == HTTP2 and not stream:
            return self._over_http1(step)
        if step == ("target" if self.is_behind else "case"):
            return Answer(self._segments(stream), self.ending)
        if step == "case":
            return self._redirect(stream)
        if self.protocol == HTTP2:
            body = None if step == "target" and self.method == "HEAD" else GOOD % step.encode()
            return plain_answer(stream, b"200", self.seed_fields if step == "before" else [], body)
        if step == "before":
            closes = h1_reader.read(self.seed, "GET", KEPT, False, LIMIT).kind == UNFINISHED
            return Answer([self.seed], CLEAN if closes else KEPT)
        body = GOOD % step.encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        return Answer([head if step == "target" and self.method == "HEAD" else head + body])

    def _over_http1(self, step: str) -> Answer:
        """To a client that was told HTTP_1_1_REQUIRED: what is wrong with the answer cannot be said there."""
        if step in ("case", "target"):
            return Answer([], CLEAN)
        body = GOOD % step.encode()
        return Answer([b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body], CLEAN)

    def _redirect(self, stream: int) -> Answer:
        if self.protocol == HTTP2:
            return plain_answer(stream, b"307", [(b"location", self.target)], None)
        return Answer([b"HTTP/1.1 307 Here\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n" % self.target])

    def _segments(self, stream: int) -> list[bytes]:
        data = self.draft.render(stream) if self.draft else self.data
        edges = [0] + sorted(cut for cut in self.cuts if cut < len(data)) + [len(data)]
        return [data[start:end] for start, end in zip(edges, edges[1:])]


def plain_answer(stream: int, status: bytes, fields: list[tuple[bytes, bytes]], body: bytes | None) -> Answer:
    """Over HTTP/2; leaves no trace in the connection's state."""
    block = hpack_writer.plain_block([(b":status", status)] + fields)
    frames = [Frame(HEADERS, END_HEADERS | (END_STREAM if body is None else 0), block)]
    if body is not None:
        frames.append(Frame(h2_draft.DATA, END_STREAM, body))
    return Answer([b"".join(frame.render(stream) for frame in frames)])


def make(seed: int, index: int, protocols: list[str]) -> Case:
    dice = Dice(seed, index)
    protocol = dice.weighted([(9, PLAIN), (4, ENCRYPTED), (9, HTTP2)])
    if protocol not in protocols:
        protocol = protocols[dice.below(len(protocols))]
    method = dice.weighted([(86, "GET"), (9, "HEAD"), (5, "POST")])
    max_body = dice.weighted([(20, LIMIT), (1, 30), (1, 1000)])
    is_behind = dice.chance(0.1)
    result = (_http2 if protocol == HTTP2 else _http1)(dice, index, protocol, method, max_body, is_behind)
    if dice.chance(0.3):
        result.cuts = _cuts(dice, result.data)
    return result


def _cuts(dice: Dice, data: bytes) -> list[int]:
    """Where a segment, or a record of TLS, ends: anywhere, and behind the head."""
    cuts = [dice.below(dice.pick([40, 400, 20_000])) for _ in range(dice.between(0, 3))]
    head = data.find(b"\r\n\r\n")
    if head >= 0 and dice.chance(0.5):
        cuts.append(head + 4)
    return sorted(cuts)


def _http1(dice: Dice, index: int, protocol: str, method: str, max_body: int, is_behind: bool) -> Case:
    target = b"/%d/target" % index
    encrypted = protocol == ENCRYPTED
    draft = h1_draft.draft(dice, method, target)
    seed = _seed(draft)
    data, mutations = h1_mutations.mutate(dice, draft)
    ending = _ending(dice, h1_reader.read(data, method, KEPT, encrypted, max_body), len(data))
    expected = h1_reader.read(data, method, ending, encrypted, max_body)
    expected.points |= h1_points.of(data, method, expected)
    follows = _leads_to(target, data)
    case = Case(index, protocol, method, max_body, mutations, expected, ending, follows, data=data, seed=seed)
    case.is_behind = is_behind and not expected.redirects
    case.seed_expected = h1_reader.read(seed, "GET", CLEAN, encrypted, LIMIT)
    return case


def _leads_to(target: bytes, data: bytes) -> bool:
    """Whether a redirect can lead nowhere but to the target."""
    line = b"Location: " + target + b"\r\n"
    at = data.find(line)
    return at >= 0 and data.lower().count(b"location") == 1 and data[at + len(line):at + len(line) + 1] not in (b" ",
                                                                                                                b"\t")


def _seed(draft: h1_draft.Draft) -> bytes:
    """The draft as an answer to GET that leads nowhere else."""
    lines = [line for line in draft.lines if not line.startswith(b"Location")]
    has_body = any(line.lower().startswith((b"content-length:", b"transfer-encoding:")) for line in lines)
    plain = dataclasses.replace(draft, lines=lines)
    if not draft.body and draft.chunks is None and has_body:
        # The answer to HEAD, or one of a status without a body.
        lines = [line for line in lines if not line.lower().startswith((b"content-length:", b"transfer-encoding:"))]
        plain.lines = lines + [b"Content-Length: 0"]
    return plain.render()


def _ending(dice: Dice, seen: Conclusion, size: int) -> str:
    """The connection stays open only where a reader needs no more than what it has got."""
    broken = seen.kind == BROKEN_BODY and seen.reason.startswith(
        ("content coding", "the announced length", "the body exceeds"))
    if seen.kind == WHOLE or broken:
        return dice.weighted([(7, KEPT), (2, CLEAN), (1, CUT)])
    return _end(dice, size)


def _end(dice: Dice, size: int) -> str:
    # With RST goes what the client's window has not taken yet.
    return dice.weighted([(6, CLEAN), (2, CUT), (1, RESET if size < 8000 else CUT)])


def _http2(dice: Dice, index: int, protocol: str, method: str, max_body: int, is_behind: bool) -> Case:
    draft = h2_draft.draft(dice, method, b"/%d/target" % index)
    seed_fields = [
        field for field in draft.fields[1:] if field[0] not in (b"content-length", b"content-encoding", b"location")
    ]
    mutations = h2_mutations.mutate(dice, draft)
    seen, _ = h2_reader.read(draft.render(h2_reader.STREAM), method, False, max_body)
    is_behind = is_behind and not seen.redirects
    stream = h2_reader.STREAM + (2 if is_behind else 0)
    data = draft.render(stream)
    seen, reusable = h2_reader.read(data, method, False, max_body, stream)
    ending = KEPT if reusable else _end(dice, 8000 if seen.kind == WHOLE else len(data))
    expected, _ = h2_reader.read(data, method, ending != KEPT, max_body, stream)
    case = Case(index,
                protocol,
                method,
                max_body,
                mutations,
                expected,
                ending,
                not mutations,
                draft=draft,
                seed_fields=seed_fields)
    case.is_behind = is_behind
    case.seed_expected = Conclusion(WHOLE, status=200, body=GOOD % b"before")
    return case
