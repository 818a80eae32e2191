# SPDX-License-Identifier: Apache-2.0
"""Runs the cases in rounds, the clients of a case one right after the other, and compares runs of the same round."""
from __future__ import annotations

import contextlib
import dataclasses
import statistics
import sys
from collections.abc import Callable, Sequence

from .cases import Case
from .clients import FLOOR, Client, ClientFailure, Run, Unsupported, run_client

Key = tuple[str, str]
"""Name of a case, name of a client."""


@dataclasses.dataclass(frozen=True)
class Spread:
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        return cls(statistics.median(values), min(values), max(values)) if values else None


@dataclasses.dataclass
class Results:
    runs: dict[Key, dict[int, Run]] = dataclasses.field(default_factory=dict)
    """By case and client, then by the number of the round."""
    failures: dict[Key, str] = dataclasses.field(default_factory=dict)
    unsupported: dict[Key, str] = dataclasses.field(default_factory=dict)
    interrupted: bool = False

    @property
    def rounds(self) -> int:
        """How many there are of what was run most often."""
        return max(map(len, self.runs.values()), default=0)

    def compare(self, own: Key, other: Key, by: Callable[[Run, Run], float]) -> Spread | None:
        """Over the rounds that have both. A run too short for the clock of CPU time is none to divide by."""
        first, second = self.runs.get(own, {}), self.runs.get(other, {})
        values = []
        for number in first.keys() & second.keys():
            with contextlib.suppress(ZeroDivisionError):
                values.append(by(first[number], second[number]))
        return Spread.of(values)

    def absolute(self, key: Key, by: Callable[[Run], float]) -> Spread | None:
        return Spread.of([by(run) for run in self.runs.get(key, {}).values()])

    def ratio_to_floor(self, case: str, client: str, by: Callable[[Run], float]) -> Spread | None:
        return self.compare((case, client), (case, FLOOR), lambda own, floor: by(own) / by(floor))


def rotated(clients: Sequence[Client], by: int) -> Sequence[Client]:
    start = by % len(clients)
    return [*clients[start:], *clients[:start]]


def run_rounds(cases: Sequence[Case], clients: Sequence[Client], rounds: int, patience: float) -> Results:
    """Goes on after failures. When it is interrupted, the results are of what was run until then."""
    results = Results()
    try:
        for number in range(rounds):
            run_round(results, number, cases, clients, patience, f"round {number + 1} of {rounds}")
    except KeyboardInterrupt:
        results.interrupted = True
    progress("")
    return results


def run_round(results: Results, number: int, cases: Sequence[Case], clients: Sequence[Client], patience: float,
              title: str) -> None:
    if not sys.stderr.isatty():
        print(title, file=sys.stderr, flush=True)
    for index, case in enumerate(cases):
        progress(f"{title}, case {index + 1} of {len(cases)}: {case.title}")
        for client in rotated(clients, number):
            if not case.only or client.name in case.only:
                run_once(results, number, case, client, patience)


def run_once(results: Results, number: int, case: Case, client: Client, patience: float) -> None:
    """A client that fails in a case is not asked again in it: there is no median over some of the rounds."""
    key = (case.name, client.name)
    if key in results.failures or key in results.unsupported:
        return
    try:
        keys = case.keys_for(client.name)
        run = run_client(client, case.scenario, keys, patience)
        if case.start is not None:
            run = run.without(run_client(client, case.scenario, {**keys, **case.start}, patience))
        results.runs.setdefault(key, {})[number] = run
    except Unsupported as reason:
        results.unsupported[key] = str(reason)
    except ClientFailure as failure:
        results.runs.pop(key, None)
        results.failures[key] = str(failure)
        progress("")
        print(f"{client.title}, {case.title}: {failure}", file=sys.stderr)
    finally:
        if case.removes is not None:
            case.removes.unlink(missing_ok=True)


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
