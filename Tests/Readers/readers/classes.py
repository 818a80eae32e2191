# SPDX-License-Identifier: Apache-2.0
"""Named classes of inputs that readers read differently."""
from __future__ import annotations

import dataclasses
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
    every difference that is permitted.
    """

    def __init__(self, name, reason, *examples, data=rb"", ours=None, theirs=None, argument="GET"):
        self.name, self.reason = name, reason
        # The bytes; the message of Lastro's refusal, that of the peer's: then only refusals are of the class.
        self.data, self.ours, self.theirs = re.compile(data), ours and re.compile(ours), theirs and re.compile(theirs)
        self.examples = [Example(*example, *(() if len(example) > 2 else (argument, ))) for example in examples]
        self.permitted = set()

    def learn(self, reader, results):
        """Permits what the examples show."""
        for index in range(len(self.examples)):
            ours = results[OURS][index]
            for peer, theirs in results.items():
                if peer != OURS:
                    self.permitted |= {(peer, kind) for kind in compare.kinds(reader, peer, ours, theirs[index])}

    def has(self, data, peer, kind, ours, theirs):
        if (peer, kind) not in self.permitted:
            return False
        if self.ours and not ("no" in ours and self.ours.search(ours["no"])):
            return False
        if self.theirs and not ("no" in theirs and self.theirs.search(theirs["no"])):
            return False
        return bool(self.data.search(data))


class Table:
    """All classes of a reader."""

    def __init__(self, reader, title, text, classes):
        self.reader, self.title, self.text, self.classes = reader, title, text, classes
        self.rows = []

    def learn(self, read):
        """Reads the examples; `read` returns results by implementation. Says what is wrong with them."""
        examples = [example for each in self.classes for example in each.examples]
        results = read(self.reader, [(example.argument, example.data) for example in examples])
        at = 0
        for each in self.classes:
            end = at + len(each.examples)
            own = {name: lines[at:end] for name, lines in results.items()}
            each.learn(self.reader, own)
            for index, example in enumerate(each.examples):
                row = {name: lines[index] for name, lines in own.items()}
                self.rows.append((each, example, row))
                if problem := self._problem(each, example, row):
                    yield f"{self.reader}, {each.name}, {example.label}: {problem}"
            at = end

    def _problem(self, each, example, row):
        if not each.data.search(example.data):
            return "the example is not of its class"
        if each.ours and not ("no" in row[OURS] and each.ours.search(row[OURS]["no"])):
            return f"Lastro reads {row[OURS]}"
        if all(not compare.kinds(self.reader, peer, row[OURS], theirs) for peer, theirs in row.items() if peer != OURS):
            return "all read it alike"
        return None

    def unexplained(self, data, results):
        """The differences in one input that no class permits: (peer, kind) each."""
        ours = results[OURS]
        for peer, theirs in results.items():
            if peer != OURS:
                for kind in compare.kinds(self.reader, peer, ours, theirs):
                    if not any(each.has(data, peer, kind, ours, theirs) for each in self.classes):
                        yield peer, kind
