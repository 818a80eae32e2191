# SPDX-License-Identifier: Apache-2.0
"""The command line."""
from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import sys
import tempfile
import time
import xml.etree.ElementTree
from collections.abc import Sequence
from pathlib import Path

from . import allocations, machine, page, plot, report, reuse
from .budgets import TABLE, judge
from .cases import Case, CaseTable, Scale, left_out
from .clients import BENCHMARKS, BUILDERS, FLOOR, Client, build
from .processes import end_on_signals, raise_descriptor_limit
from .rounds import Results, run_rounds
from .servers import GIB, Servers, serving

DESCRIPTORS_NEEDED = 12_000
INTERRUPTED = 130


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Benchmarks/run", description="Compares HTTP clients with bare libcurl.")
    modes = ["measure", "serve", "page", "reuse", "allocations"]
    parser.add_argument("mode", nargs="?", choices=modes, default="measure",
                        help="measure (default); serve: run the servers alone and print their URLs; page: write the "
                             "kept results into Docs/Lastro.docc/Performance.md; reuse: how often requests to 1,000 origins find "
                             "a connection, with one event loop and with four; allocations: count those of a fetch")
    parser.add_argument("--table", action="store_true",
                        help="only the cases of the page Docs/Lastro.docc/Performance.md: half an hour")
    parser.add_argument("--clients", help="comma separated; the floor is always there; default: all")
    parser.add_argument("--scenarios", help="names of cases, comma separated, * stands for anything; default: all, or "
                                            "the table's")
    parser.add_argument("--rounds", type=int, help="default: 5; with --smoke 1")
    parser.add_argument("--smoke", action="store_true", help="a few requests of everything: does it work?")
    parser.add_argument("--enforce", action="store_true", help="fail when a budget is not met")
    parser.add_argument("--results", type=Path, default=BENCHMARKS / "results", help="folder for results.json and .svg")
    given = parser.parse_args(words)
    given.clients = given.clients or ",".join(BUILDERS)
    given.scenarios = given.scenarios or (",".join(TABLE) if given.table else "*")
    given.clients = [FLOOR, *(name for name in given.clients.split(",") if name and name != FLOOR)]
    if unknown := [name for name in given.clients if name not in BUILDERS]:
        parser.error(f"no client {unknown[0]}: there are {', '.join(BUILDERS)}")
    given.rounds = given.rounds or (1 if given.smoke else 5)
    return given


def chosen(cases: Sequence[Case], patterns: str) -> list[Case]:
    found = [case for case in cases if any(fnmatch.fnmatch(case.name, pattern) for pattern in patterns.split(","))]
    if not found:
        raise RuntimeError(f"no case is named {patterns}: there are {', '.join(case.name for case in cases)}")
    return found


def serve(servers: Servers) -> None:
    """Prints where the servers are, and waits to be interrupted."""
    print(f"""HTTP/1.1           {servers.plain}/1024  /16384  /1048576  /{GIB}  /json
HTTP/2 over TLS    {servers.secure}/1024  (the same paths)
uploads            {servers.sink}/upload  {servers.secure}/upload
SOCKS 5            {servers.socks}
never answers      {servers.silent}/silent  {servers.secure}/silent
idle connections   {servers.idle}/1024  ({{n}}: 127.1.0.1 … 127.1.3.250)
the same over TLS  {servers.secure_idle}/1024  ({{n}}: 127.1.0.1 … 127.1.0.50)
ca=                {servers.certificates.authority}
pins=              {','.join(servers.certificates.pins)}""", flush=True)
    while True:
        time.sleep(3600)


def scratch_parent() -> str | None:
    """Memory, where it is large enough for what is downloaded, so that no disk is measured."""
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and shutil.disk_usage(memory).free > 3 * GIB else None


def show(lines: Sequence[str]) -> None:
    print("\n".join(lines), flush=True)


def write_results(given: argparse.Namespace, results: Results, cases: Sequence[Case],
                  clients: Sequence[Client]) -> bool:
    """Returns whether every budget that was measured is met."""
    facts, verdicts = machine.facts(), judge(results)
    show([machine.summary(facts), "", *report.table(results, cases, clients), "",
          *(f"left out: {reason}" for reason in left_out()), ""])
    if not given.smoke:
        show([*report.comparison_table(results), "", *report.verdict_table(verdicts), ""])
    given.results.mkdir(parents=True, exist_ok=True)
    data, chart = given.results / "results.json", given.results / "results.svg"
    report.write_json(data, report.as_json(results, cases, verdicts, facts))
    footnote = f"{facts['processor']}, {facts['cores']} cores; nginx on loopback; medians of {results.rounds} rounds"
    plot.write_chart(chart, plot.chart(results, cases, clients, footnote))
    json.loads(data.read_text(encoding="utf-8"))
    xml.etree.ElementTree.parse(chart)
    print(f"{data}\n{chart}")
    return all(verdict.met for verdict in verdicts if verdict.spread is not None and not verdict.budget.goal)


def measure(given: argparse.Namespace, cases: Sequence[Case]) -> int:
    clients = []
    for name in given.clients:
        print(f"building {name}", file=sys.stderr)
        # Where no time is judged, none is spent on optimising.
        clients.append(build(name, "debug" if given.smoke else "release"))
    results = run_rounds(cases, clients, given.rounds, patience=30 if given.smoke else 180)
    met = write_results(given, results, cases, clients)
    if results.interrupted:
        show([f"INTERRUPTED after {results.rounds} of {given.rounds} rounds"])
        return INTERRUPTED
    if results.failures:
        show([f"FAILED: {client}, {case}" for case, client in results.failures])
        return 1
    return 1 if given.enforce and not met else 0


def main(words: Sequence[str]) -> int:
    given = arguments(words)
    if given.mode == "page":
        page.fill(given.results / "results.json")
        return 0
    end_on_signals()
    descriptors = raise_descriptor_limit()
    if descriptors < DESCRIPTORS_NEEDED:
        print(f"the hard limit of open files is {descriptors}: {DESCRIPTORS_NEEDED} are needed", file=sys.stderr)
        return 1
    scale = Scale(given.smoke)
    try:
        with tempfile.TemporaryDirectory(prefix="lastro-benchmarks-") as folder, \
                tempfile.TemporaryDirectory(prefix="lastro-benchmarks-", dir=scratch_parent()) as scratch, \
                serving(Path(folder), descriptors, scale.stream_size) as servers:
            if given.mode == "serve":
                serve(servers)
            if given.mode == "reuse":
                return 0 if reuse.measure(servers, given.rounds) else 1
            if given.mode == "allocations":
                return 0 if allocations.measure(servers) else 1
            cases = chosen(CaseTable(servers, scale, Path(scratch)).all(), given.scenarios)
            return measure(given, cases)
    except KeyboardInterrupt:
        return INTERRUPTED
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
