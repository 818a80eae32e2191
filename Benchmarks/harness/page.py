# SPDX-License-Identifier: Apache-2.0
"""Writes the kept results into Docs/Lastro.docc/Performance.md, between two marks, so that no figure is copied by hand."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .budgets import CPU_OF_FLOOR, ROWS
from .clients import BENCHMARKS, FLOOR
from .comparisons import DIALER, IDLE

PAGE = BENCHMARKS.parent / "Docs" / "Lastro.docc" / "Performance.md"
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
           f"{machine['cores']} cores; medians of {results['rounds']} rounds, with the range in parentheses.")
    yield ""
    yield "| | CPU, × libcurl | budget / goal | Go's CPU, × libcurl | wall time, × libcurl | memory, × libcurl |"
    yield "|---|---|---|---|---|---|"
    medians = {(row["case"], row["client"]): row for row in results["medians"]}
    titles = {case["name"]: case["title"] for case in results["cases"]}
    limits = {case: f"{limit:g} / {'–' if goal is None else f'{goal:g}'}" for case, limit, goal in CPU_OF_FLOOR}
    for case in ROWS:
        if own := medians.get((case, "lastro")):
            go = medians.get((case, "go"), {})
            yield (f"| {titles[case]} | {with_range(own, 'cpu_us_per_request_ratio')} | {limits.get(case, '–')} "
                   f"| {median(go, 'cpu_us_per_request_ratio')} | {median(own, 'wall_us_per_request_ratio')} "
                   f"| {median(own, 'peak_mib_ratio')} |")
    yield ""
    yield from dialers(results)
    yield from idle_connections(results)
    yield from verdicts(results)


def dialers(results: Figures) -> Iterator[str]:
    """Yields the rows of `DialerTransport`."""
    subjects: dict[str, dict[str, Figures]] = {}
    for row in compared(results, DIALER):
        subjects.setdefault(row["subject"], {})[row["unit"]] = row
    if not subjects:
        return
    yield "A `DialerTransport`, beside the engine of `CurlNetworkStack` over the same path (HTTP/1.1, 1 KiB):"
    yield ""
    yield "| `DialerTransport` over | CPU, × the engine | wall time, × the engine |"
    yield "|---|---|---|"
    for subject, units in subjects.items():
        yield f"| {subject} | {with_range(units['CPU'], 'figure')} | {median(units['wall time'], 'figure')} |"
    yield ""


def idle_connections(results: Figures) -> Iterator[str]:
    """Yields the memory of an idle TLS connection."""
    names = {FLOOR: "libcurl", "lastro": "Lastro", "go": "Go"}
    figures = {row["subject"]: row["figure"]["median"] for row in compared(results, IDLE)}
    each = [f"{figures[client]:.1f} KiB in {name}" for client, name in names.items() if client in figures]
    if each:
        yield f"An idle TLS connection takes {', '.join(each)}."
        yield ""


def compared(results: Figures, kind: str) -> list[Figures]:
    return [row for row in results.get("comparisons", []) if row["kind"] == kind]


def verdicts(results: Figures) -> Iterator[str]:
    """Yields the number of budgets that are met, and a line for each that is missed."""
    judged = [row for row in results["budgets"] if row["figure"] is not None and not row["goal"]]
    missed = [row for row in judged if row["verdict"] != "met"]
    yield f"{len(judged) - len(missed)} of the {len(judged)} measured budgets are met.{' Not met:' if missed else ''}"
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
