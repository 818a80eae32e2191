# SPDX-License-Identifier: Apache-2.0
"""The table for people, and the same as JSON."""
from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .budgets import Verdict
from .cases import Case
from .clients import FLOOR, Client, Run
from .comparisons import comparisons
from .rounds import Results, Spread

METRICS: dict[str, Callable[[Run], float]] = {
    "cpu_us_per_request": lambda run: run.cpu_us_per_request,
    "wall_us_per_request": lambda run: run.wall_us_per_request,
    "peak_mib": lambda run: run.peak_mib,
}
COLUMNS = (f"{'':18}{'CPU/request':>14}{'of the floor’s':>26}{'wall/request':>16}{'of it':>8}{'peak memory':>14}"
           f"{'of it':>8}")


def duration(microseconds: float) -> str:
    for limit, divisor, unit in ((1e3, 1, "µs"), (1e6, 1e3, "ms")):
        if microseconds < limit:
            return f"{microseconds / divisor:.1f} {unit}"
    return f"{microseconds / 1e6:.2f} s"


def ratio(spread: Spread | None) -> str:
    return "–" if spread is None else f"{spread.median:.2f}"


def ratio_with_range(spread: Spread | None) -> str:
    return "–" if spread is None else f"{spread.median:.2f} ({spread.least:.2f}–{spread.most:.2f})"


def client_row(results: Results, case: Case, client: Client) -> str:
    key = (case.name, client.name)
    if key in results.failures:
        return f"  {client.title:16}FAILED: {results.failures[key]}"
    if key in results.unsupported:
        return f"  {client.title:16}cannot: {results.unsupported[key]}"
    cpu, wall, memory = (results.absolute(key, metric) for metric in METRICS.values())
    if cpu is None or wall is None or memory is None:
        return f"  {client.title:16}not measured"
    of_floor = [results.ratio_to_floor(case.name, client.name, metric) for metric in METRICS.values()]
    return (f"  {client.title:16}{duration(cpu.median):>14}{ratio_with_range(of_floor[0]):>26}"
            f"{duration(wall.median):>16}{ratio(of_floor[1]):>8}{memory.median:>10.1f} MiB{ratio(of_floor[2]):>8}")


def table(results: Results, cases: Sequence[Case], clients: Sequence[Client]) -> Iterator[str]:
    yield COLUMNS
    for case in cases:
        yield case.title
        for client in clients:
            if not case.only or client.name in case.only:
                yield client_row(results, case, client)


def verdict_row(verdict: Verdict) -> str:
    figure = ""
    if verdict.spread is not None:
        figure = f"{ratio_with_range(verdict.spread)} {verdict.budget.unit}"
    return f"  {verdict.word:14}{str(verdict.budget):72}{figure}"


def verdict_table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    for title, goal in (("Budgets", False), ("Goals", True)):
        chosen = [verdict for verdict in verdicts if verdict.budget.goal == goal]
        measured = [verdict for verdict in chosen if verdict.spread is not None]
        yield f"{title}: {sum(verdict.met for verdict in measured)} met of {len(measured)} measured, of {len(chosen)}"
        yield from map(verdict_row, chosen)


def comparison_table(results: Results) -> Iterator[str]:
    """Yields nothing if none of the compared cases was measured."""
    for each in comparisons(results):
        yield f"  {each.kind:10}{each.subject:42}{each.unit:12}{ratio_with_range(each.spread)}"


def spread_json(spread: Spread | None) -> dict[str, float] | None:
    return None if spread is None else {key: round(value, 4) for key, value in dataclasses.asdict(spread).items()}


def medians(results: Results) -> Iterator[dict[str, object]]:
    for case, client in results.runs:
        yield {"case": case, "client": client,
               **{name: spread_json(results.absolute((case, client), metric)) for name, metric in METRICS.items()},
               **({} if client == FLOOR else {
                   f"{name}_ratio": spread_json(results.ratio_to_floor(case, client, metric))
                   for name, metric in METRICS.items()})}


def as_json(results: Results, cases: Sequence[Case], verdicts: Sequence[Verdict],
            facts: dict[str, object]) -> dict[str, object]:
    return {
        "machine": facts,
        "rounds": results.rounds,
        "cases": [{"name": case.name, "title": case.title, "scenario": case.scenario,
                   **{key: case.keys[key] for key in ("http", "concurrency", "requests", "size") if key in case.keys}}
                  for case in cases],
        "medians": list(medians(results)),
        "comparisons": [{"kind": each.kind, "subject": each.subject, "unit": each.unit,
                         "figure": spread_json(each.spread)} for each in comparisons(results)],
        "budgets": [{"budget": str(verdict.budget), "goal": verdict.budget.goal, "verdict": verdict.word,
                     "unit": verdict.budget.unit, "limit": verdict.budget.limit, "figure": spread_json(verdict.spread)}
                    for verdict in verdicts],
        "failures": [{"case": case, "client": client, "reason": reason}
                     for (case, client), reason in results.failures.items()],
        "unsupported": [{"case": case, "client": client, "reason": reason}
                        for (case, client), reason in results.unsupported.items()],
        "runs": [{"case": case, "client": client, "round": number, **dataclasses.asdict(run)}
                 for (case, client), of_rounds in results.runs.items() for number, run in of_rounds.items()],
    }


def write_json(path: Path, content: dict[str, object]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
