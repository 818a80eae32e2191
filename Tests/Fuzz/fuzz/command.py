# SPDX-License-Identifier: Apache-2.0
"""The command line: deals the cases out to lanes, prints what they tell."""
from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import os
import shutil
import sys
import time
from pathlib import Path

from . import case as cases
from . import certificate, show
from .lane import Finding, Lane, Options

PROTOCOLS = {
    "http1": [cases.PLAIN, cases.ENCRYPTED],
    "http2": [cases.HTTP2],
    "both": [cases.PLAIN, cases.ENCRYPTED, cases.HTTP2]
}
SHOWN = 40


def arguments(given: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Tests/Fuzz/run", description=__doc__)
    parser.add_argument("program", help="lastro, built with AddressSanitizer")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=20_000, help="how many, from --first on")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--case",
                        type=int,
                        action="append",
                        help="this one alone, and what is sent in it; may be repeated")
    parser.add_argument("--protocol", choices=sorted(PROTOCOLS), default="both")
    parser.add_argument("--lanes",
                        type=int,
                        default=os.cpu_count() or 2,
                        help="servers and programs beside one another")
    parser.add_argument("--limit", type=float, default=60, help="seconds without a byte or a result that are a hang")
    parser.add_argument("--folder", type=Path, default=Path(".build-asan/fuzz"), help="for reports and findings")
    return parser.parse_args(given)


def main(given: list[str]) -> int:
    options = arguments(given)
    folder = options.folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    chain, key = certificate.make(folder)
    of_lane = Options(os.path.abspath(options.program), options.seed, PROTOCOLS[options.protocol], options.limit, folder,
                      chain, key)
    indexes = options.case or list(range(options.first, options.first + options.cases))
    lanes = 1 if options.case else min(options.lanes, len(indexes))
    told = multiprocessing.SimpleQueue()
    workers = [
        multiprocessing.Process(target=work, args=(of_lane, indexes[lane::lanes], told)) for lane in range(lanes)
    ]
    for worker in workers:
        worker.start()
    summary = Summary(options, folder, len(indexes))
    ended = 0
    while ended < lanes:
        message = told.get()
        if message is None:
            ended += 1
        else:
            summary.take(*message)
    for worker in workers:
        worker.join()
    return summary.finish(all(worker.exitcode == 0 for worker in workers))


def work(options: Options, indexes: list[int], told: multiprocessing.SimpleQueue) -> None:
    try:
        Lane(options).run(indexes, lambda index, verdict, finding: told.put((index, verdict, finding)))
    finally:
        told.put(None)


class Summary:
    def __init__(self, options: argparse.Namespace, folder: Path, count: int):
        self._options, self._count = options, count
        self._file = (folder / "findings.jsonl").open("w", encoding="utf-8")
        self._verdicts: collections.Counter[str] = collections.Counter()
        self._findings = 0
        self._done = 0
        self._begun = self._told = time.monotonic()
        print(f"{count} cases, seed {options.seed}", flush=True)

    def take(self, index: int, verdict: str, finding: Finding | None) -> None:
        self._done += index >= 0
        self._verdicts[verdict] += 1
        if self._options.case and index >= 0:
            print(show.case(cases.make(self._options.seed, index, PROTOCOLS[self._options.protocol])), flush=True)
            print(f"verdict: {verdict}", flush=True)
        if finding:
            self._find(finding)
        if time.monotonic() - self._told > 10:
            self._told = time.monotonic()
            print(f"{self._done} of {self._count}, {self._rate():.0f} a second, {self._findings} findings", flush=True)

    def _find(self, finding: Finding) -> None:
        self._findings += 1
        self._file.write(json.dumps(show.record(finding)) + "\n")
        self._file.flush()
        if self._findings <= SHOWN:
            print(
                f"\n{finding.what}\n  Lastro: {finding.told}\n"
                f"  expected: {finding.case.expected if finding.case else ''}\n"
                f"  again: make fuzz FUZZFLAGS=\"{self._again(finding)}\"",
                flush=True)

    def _again(self, finding: Finding) -> str:
        options = self._options
        result = f"--seed {options.seed}"
        if options.protocol != "both":
            result += f" --protocol {options.protocol}"
        if finding.index >= 0 and finding.alone is not False:
            return f"{result} --case {finding.index}"
        # Not by itself: with those that went before it on its lane.
        count = finding.index - options.first + 1 if finding.index >= 0 else options.cases
        return f"{result} --first {options.first} --cases {count} --lanes {options.lanes}"

    def _rate(self) -> float:
        return self._done / max(0.001, time.monotonic() - self._begun)

    def finish(self, ended_well: bool) -> int:
        print(f"\n{self._done} cases in {time.monotonic() - self._begun:.0f} s, {self._rate():.0f} a second")
        for verdict, count in sorted(self._verdicts.items()):
            print(f"{count:8}  {verdict}")
        if self._findings:
            print(f"{self._findings} findings: {self._file.name}", file=sys.stderr)
        if not ended_well or self._done != self._count:
            print("the run did not come to its end", file=sys.stderr)
            return 2
        return 1 if self._findings else 0
