# SPDX-License-Identifier: Apache-2.0
"""What Lastro has to keep to, as data."""
from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator

from .cases import (CONCURRENCIES, DIALER_CONCURRENCIES, DIALER_PATHS, EXECUTOR_CONCURRENCIES, IDLE_TLS, TLS, UNIQUE,
                    dialer_name, engine_name, exceeds_memory, executor_name, fetch_name, idle_tls_name)
from .clients import FLOOR, Run
from .rounds import Results, Spread

NOISE = 1.03
"""Two runs of the same thing differ by this much: no difference can be seen below it."""


class Metric(enum.Enum):
    CPU = "CPU per request"
    WALL = "wall time"
    MEMORY = "peak memory"

    def of(self, run: Run) -> float:
        return {Metric.CPU: run.cpu_us_per_request, Metric.WALL: run.wall_us_per_request,
                Metric.MEMORY: run.peak_mib}[self]


@dataclasses.dataclass(frozen=True)
class Budget:
    """At most `limit` times what `reference` takes, in the same round."""
    case: str
    metric: Metric
    limit: float
    client: str = FLOOR
    """Whose run is the reference …"""
    against: str | None = None
    """… and of which case; none: the same one."""
    goal: bool = False
    """Something to aim for rather than to keep."""

    def spread(self, results: Results) -> Spread | None:
        return results.compare((self.case, "lastro"), (self.against or self.case, self.client),
                               lambda own, other: self.metric.of(own) / self.metric.of(other))

    def __str__(self) -> str:
        reference = f"{self.client}'s" if self.against is None else f"its own in {self.against}"
        return f"{self.case}: {self.metric.value} ≤ {self.limit:.2f} × {reference}"

    unit = "×"


@dataclasses.dataclass(frozen=True)
class MemoryBudget:
    """At most so many MiB at any time."""
    case: str
    limit: float
    goal: bool = False
    unit = "MiB"

    def spread(self, results: Results) -> Spread | None:
        return results.absolute((self.case, "lastro"), lambda run: run.peak_mib)

    def __str__(self) -> str:
        return f"{self.case}: peak memory ≤ {self.limit:.0f} MiB"


@dataclasses.dataclass(frozen=True)
class StepBudget:
    """At most so many µs of CPU for each of the `steps` that `case` has more than `against`."""
    case: str
    against: str
    steps: int
    limit: float
    goal: bool = False
    unit = "µs"

    def spread(self, results: Results) -> Spread | None:
        return results.compare((self.case, "lastro"), (self.against, "lastro"),
                               lambda own, other: (own.cpu_us_per_request - other.cpu_us_per_request) / self.steps)

    def __str__(self) -> str:
        return f"{self.case}: each ≤ {self.limit:.2f} µs of CPU"


AnyBudget = Budget | MemoryBudget | StepBudget
STREAM_NAMES = ("download", "download-file", "upload")

# Case, budget and goal, if there is one: CPU of the floor's.
CPU_OF_FLOOR: tuple[tuple[str, float, float | None], ...] = (
    (fetch_name(1, 1, "1k"), 1.4, 1.1), (fetch_name(1, 64, "1k"), 0.85, 0.7), (fetch_name(1, 512, "1k"), 0.6, 0.5),
    (fetch_name(1, 4000, "1k"), 0.35, 0.25), (fetch_name(2, 64, "1k"), 0.8, 0.55),
    (fetch_name(1, 64, "16k"), 0.9, 0.65), (fetch_name(1, 8, "1m"), 1.1, 0.95), (TLS, 0.9, 0.75),
    ("handshakes", 1.1, None),
)
# The rows of the table in Docs/Lastro.docc/Performance.md: CPU, memory at 512, heads that all differ, idle connections,
# the loop's executor, streams.
ROWS = (
    *(case for case, _, _ in CPU_OF_FLOOR), fetch_name(2, 512, "1k"), UNIQUE, "idle",
    *(executor_name(concurrency) for concurrency in EXECUTOR_CONCURRENCIES),
    *(f"h{http}-{stream}" for http in (1, 2) for stream in STREAM_NAMES),
)
# What `--table` measures: the rows, and the cases of `comparisons` on that page.
TABLE = (
    *ROWS, *map(idle_tls_name, IDLE_TLS),
    *(name(path, concurrency) for path in DIALER_PATHS for concurrency in DIALER_CONCURRENCIES
      for name in (engine_name, dialer_name)),
)


def budgets() -> Iterator[AnyBudget]:
    cpu, wall, memory = Metric.CPU, Metric.WALL, Metric.MEMORY
    for case, limit, goal in CPU_OF_FLOOR:
        yield Budget(case, cpu, limit)
        if goal is not None:
            yield Budget(case, cpu, goal, goal=True)
    for case in ROWS:
        yield Budget(case, cpu, 1, "go")
        yield Budget(case, cpu, 0.5, "go", goal=True)
    for http in (1, 2):
        some, many, most = (fetch_name(http, concurrency, "1k") for concurrency in (64, 512, 4000))
        yield Budget(fetch_name(http, 1, "1k"), wall, 1.6)
        yield Budget(many, wall, 1.35)
        yield Budget(most, cpu, 1.5, "lastro", some)
        yield Budget(many, memory, 1.3)
        for stream in STREAM_NAMES:
            yield Budget(f"h{http}-{stream}", wall, 1.05)
    yield Budget("h2-download", wall, 1, goal=True)
    for stream in STREAM_NAMES:
        yield MemoryBudget(f"h1-{stream}", 32)
    yield Budget("idle", cpu, 1.05, "lastro", fetch_name(1, 64, "1k"))
    yield Budget("idle", memory, 1)
    for concurrency in EXECUTOR_CONCURRENCIES:
        yield Budget(executor_name(concurrency), cpu, 1, "lastro", fetch_name(1, concurrency, "1k"))
    yield Budget("handshakes-pins", cpu, 1.05, "lastro", "handshakes")
    yield Budget("reused-pins", cpu, NOISE, "lastro", "reused-plain")
    yield StepBudget("interceptors-10", "interceptors-0", 10, 1)
    yield Budget("loops-2", wall, NOISE, "lastro", "loops-1")
    yield from peer_budgets()
    yield from goals()


def peer_budgets() -> Iterator[Budget]:
    for size in ("1k", "16k"):
        # It has no HTTP/2 here: it cannot be told to trust the authority of a run.
        yield Budget(fetch_name(1, 64, size), Metric.CPU, 0.1, "urlsession")
        yield Budget(fetch_name(1, 1, size), Metric.CPU, 0.15, "urlsession")
    for http in (1, 2):
        for size in ("1k", "16k"):
            for concurrency in CONCURRENCIES:
                yield Budget(fetch_name(http, concurrency, size), Metric.CPU, 0.6, "asynchttpclient")


def goals() -> Iterator[Budget]:
    for http in (1, 2):
        for size in ("1k", "16k", "1m"):
            for concurrency in CONCURRENCIES:
                name = fetch_name(http, concurrency, size)
                if name not in ROWS and not exceeds_memory(size, concurrency):
                    yield Budget(name, Metric.CPU, 1, "go", goal=True)


@dataclasses.dataclass(frozen=True)
class Verdict:
    budget: AnyBudget
    spread: Spread | None
    """None: not measured in this run."""

    @property
    def met(self) -> bool:
        return self.spread is not None and self.spread.median <= self.budget.limit

    @property
    def word(self) -> str:
        if self.spread is None:
            return "not measured"
        return "met" if self.met else "NOT met"


def judge(results: Results) -> list[Verdict]:
    return [Verdict(budget, budget.spread(results)) for budget in budgets()]
