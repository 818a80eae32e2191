# SPDX-License-Identifier: Apache-2.0
"""Writes the kept results into Docs/Performance.md, between two marks, so that no figure is copied by hand."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .budgets import CPU_OF_FLOOR, TABLE
from .clients import BENCHMARKS

PAGE = BENCHMARKS.parent / "Docs" / "Performance.md"
BEGIN, END = "<!-- results: Benchmarks/run page -->", "<!-- end of the results -->"

Figures = Mapping[str, Any]


def fill(results: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} has no place between {BEGIN} and {END}")
    lines = "\n".join(section(json.loads(results.read_text(encoding="utf-8"))))
    PAGE.write_text(f"{head}{BEGIN}\n{lines}\n{END}{tail}", encoding="utf-8")


def section(results: Figures) -> Iterator[str]:
    machine = results["machine"]
    yield (f"Commit {machine['commit'][:7]}{', with changes' if machine['changed'] else ''}; {machine['processor']}, "
           f"{machine['cores']} cores; medians of {results['rounds']} rounds, with the least and the most.")
    yield ""
    yield "| | CPU of bare libcurl's | budget / goal | Go's in the same run | wall time of libcurl's | memory of libcurl's |"
    yield "|---|---|---|---|---|---|"
    medians = {(row["case"], row["client"]): row for row in results["medians"]}
    titles = {case["name"]: case["title"] for case in results["cases"]}
    limits = {case: f"{limit:g} / {goal:g}" for case, limit, goal in CPU_OF_FLOOR}
    for case in TABLE:
        if own := medians.get((case, "lastro")):
            go = medians.get((case, "go"), {})
            yield (f"| {titles[case]} | {with_range(own, 'cpu_us_per_request_ratio')} | {limits.get(case, '–')} "
                   f"| {median(go, 'cpu_us_per_request_ratio')} | {median(own, 'wall_us_per_request_ratio')} "
                   f"| {median(own, 'peak_mib_ratio')} |")
    yield ""
    yield from verdicts(results)


def verdicts(results: Figures) -> Iterator[str]:
    """Which budgets are missed; those that are met are told by their number."""
    judged = [row for row in results["budgets"] if row["figure"] is not None and not row["goal"]]
    missed = [row for row in judged if row["verdict"] != "met"]
    yield f"Of {len(judged)} budgets that were measured {len(judged) - len(missed)} are met{'; not:' if missed else '.'}"
    if missed:
        yield ""
        for row in missed:
            yield f"- {row['budget']}: {row['figure']['median']:.2f} {row['unit']}"


def median(row: Figures, key: str) -> str:
    spread = row.get(key)
    return "–" if spread is None else f"{spread['median']:.2f}"


def with_range(row: Figures, key: str) -> str:
    spread = row.get(key)
    return "–" if spread is None else f"{spread['median']:.2f} ({spread['least']:.2f}–{spread['most']:.2f})"
