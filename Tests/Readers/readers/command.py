# SPDX-License-Identifier: Apache-2.0
"""The command line."""
from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from fuzz.dice import Dice

from . import cache_inputs, cookies_inputs, events_inputs, heads_inputs, multipart_inputs, page, peers
from .peers import OURS, ROOT
from .tables import TABLES

INPUTS = {
    "heads": heads_inputs,
    "cookies": cookies_inputs,
    "cache": cache_inputs,
    "events": events_inputs,
    "multipart": multipart_inputs
}
EXPECTED = ROOT / "Tests/Readers/expected.json"
BATCH, MOST_SHOWN = 10_000, 20


def main(words):
    parser = argparse.ArgumentParser(prog="Tests/Readers/run", description="Compares Lastro's readers with others.")
    parser.add_argument("--program", default=ROOT / ".build/release/LastroReaders", help="Lastro's readers, as built")
    parser.add_argument("--readers", default=",".join(TABLES), help="of " + ", ".join(TABLES))
    parser.add_argument("--cases", type=int, default=2000, help="of each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="one case, and what each reader makes of it")
    parser.add_argument("--write", action="store_true", help="write Docs/Readers.md")
    given = parser.parse_args(words)
    peers.build()
    run = Run(given)
    if given.case is not None:
        return run.show(given.case)
    tables = [TABLES[reader] for reader in given.readers.split(",")]
    for table in tables:
        run.problems += table.learn(run.read)
        run.check_digests(table)
    run.check_page(tables)
    for table in tables:
        run.compare(table)
    print("\n".join(run.problems[:MOST_SHOWN]))
    if len(run.problems) > MOST_SHOWN:
        print(f"… and {len(run.problems) - MOST_SHOWN} more")
    print(run.summary)
    return 1 if run.problems else 0


class Run:

    def __init__(self, given):
        self.given, self.problems, self.summary = given, [], "readers: "

    def read(self, reader, cases):
        return peers.read_all(self.given.program, reader, cases)

    def _make(self, reader, index):
        return INPUTS[reader].make(Dice(self.given.seed, index))

    def show(self, index):
        for reader in self.given.readers.split(","):
            case = self._make(reader, index)
            print(reader, case[0], case[1])
            for name, lines in self.read(reader, [case]).items():
                print(f"  {name}: {json.dumps(lines[0])}")
        return 0

    def check_digests(self, table):
        """The examples permit what others do; what Lastro itself makes of them must not change unnoticed."""
        known = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
        if self.given.write:
            EXPECTED.write_text(json.dumps(known | {table.reader: table.digests}, indent=0) + "\n")
            return
        for name, digest in table.digests.items():
            if known.get(table.reader, {}).get(name) != digest:
                self.problems.append(f"{table.reader}: Lastro reads the examples otherwise than before: {name}")

    def check_page(self, tables):
        if len(tables) < len(TABLES):
            return
        text = page.text(tables)
        known = page.PAGE.read_text() if page.PAGE.exists() else ""
        if self.given.write:
            page.PAGE.write_text(text)
        elif known != text and page.versions() in known:
            self.problems.append("Docs/Readers.md is not what the examples show: Tests/Readers/run --write")

    def compare(self, table):
        """Makes a batch while the one before it is read."""
        start, counts, at = time.monotonic(), Counter(), 0
        with ThreadPoolExecutor(1) as pool:
            running = None
            while running or at < self.given.cases:
                numbers = range(at, min(at + BATCH, self.given.cases))
                cases = [self._make(table.reader, index) for index in numbers]
                latest, at = running, numbers.stop
                running = (numbers, cases, pool.submit(self.read, table.reader, cases)) if cases else None
                if latest:
                    self._judge(table, *latest, counts)
        seconds = time.monotonic() - start
        print(
            f"{table.reader}: {self.given.cases} cases, {counts['accepted']} accepted by Lastro, in {counts['differing']} "
            f"a reader differs, {counts['unexplained']} differences without a class, {seconds:.0f} s", flush=True)
        self.summary += f"{self.given.cases} {table.reader}, {counts['unexplained']} unexplained; "

    def _judge(self, table, numbers, cases, pending, counts):
        results = pending.result()
        for place, (index, case) in enumerate(zip(numbers, cases)):
            row = {name: lines[place] for name, lines in results.items()}
            found = [("Lastro", "split")] if "split" in row[OURS] else list(table.unexplained(case, row))
            counts["accepted"] += "no" not in row[OURS]
            counts["differing"] += table.differs(row)
            counts["unexplained"] += len(found)
            if found:
                names = ", ".join(f"{peer} {kind}" for peer, kind in found)
                self.problems.append(f"{table.reader} --seed {self.given.seed} --case {index}: {names}: {case[1][:300]}")
