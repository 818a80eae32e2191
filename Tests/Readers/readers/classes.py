# SPDX-License-Identifier: Apache-2.0
"""Named classes of inputs that readers read differently."""
from __future__ import annotations

import dataclasses
import hashlib
import json
import re

from . import compare
from .peers import OURS


@dataclasses.dataclass
class Example:
    """A row of the page: `(label, bytes)`, with the argument of the reader if it is not the usual one."""
    label: str
    data: bytes
    argument: str


class Class:
    """Inputs with one peculiarity. They are looked for in the bytes, and apart from all readers.

    A peer may differ in an input of the class in the ways in which it does so in one of the examples: so the page has
    every difference that is permitted. Readers may have other versions tomorrow, whose examples then say what they do.
    """

    def __init__(self, name, reason, *examples, data=rb"", ours=None, when=None, argument="GET"):
        self.name, self.reason = name, reason
        # The bytes; the message of Lastro's refusal, if that makes the class.
        self.data, self.ours = re.compile(data), ours and re.compile(ours)
        # A test of the argument and the bytes, where a pattern does not suffice.
        self.when = when or (lambda argument, data: True)
        self.examples = [Example(*example, *(() if len(example) > 2 else (argument, ))) for example in examples]
        self.permitted = set()

    def learn(self, reader, results):
        """Permits what the examples show. Returns those that show a difference for the first time, for the page."""
        shown = []
        for index, example in enumerate(self.examples):
            row = {name: lines[index] for name, lines in results.items()}
            ours = row[OURS]
            if self.is_of(example.argument, example.data, ours):
                differences = {(peer, kind)
                               for peer in row if peer != OURS for kind in compare.kinds(reader, peer, ours, row[peer])}
                if not differences <= self.permitted:
                    shown.append((self, example, row))
                self.permitted |= differences
        return shown

    def is_of(self, argument, data, ours):
        """Whether the bytes are of the class, and Lastro refuses them for its reason."""
        return bool(self.data.search(data)) and self.when(
            argument, data) and (not self.ours or "no" in ours and bool(self.ours.search(ours["no"])))

    def has(self, case, peer, kind, ours):
        return (peer, kind) in self.permitted and self.is_of(*case, ours)


class Table:
    """All classes of a reader."""

    def __init__(self, reader, title, text, classes):
        self.reader, self.title, self.text, self.classes = reader, title, text, classes
        self.rows = []
        # Of what Lastro reads in the examples of each class.
        self.digests = {}

    def learn(self, read):
        """Reads the examples; `read` returns results by implementation. Returns what is wrong with them."""
        examples = [example for each in self.classes for example in each.examples]
        results = read(self.reader, [(example.argument, example.data) for example in examples])
        at = 0
        for each in self.classes:
            end = at + len(each.examples)
            rows = each.learn(self.reader, {name: lines[at:end] for name, lines in results.items()})
            self.rows += rows
            own = json.dumps(results[OURS][at:end], sort_keys=True)
            self.digests[each.name] = hashlib.sha256(own.encode()).hexdigest()[:16]
            if not rows:
                yield f"{self.reader}: no example shows the class: {each.name}"
            at = end

    def differs(self, results):
        return any(
            compare.kinds(self.reader, peer, results[OURS], theirs) for peer, theirs in results.items()
            if peer != OURS and "split" not in results[OURS])

    def unexplained(self, case, results):
        """The differences in one input that no class permits: (peer, kind) each."""
        ours = results[OURS]
        for peer, theirs in results.items():
            if peer != OURS:
                for kind in compare.kinds(self.reader, peer, ours, theirs):
                    if not any(each.has(case, peer, kind, ours) for each in self.classes):
                        yield peer, kind
