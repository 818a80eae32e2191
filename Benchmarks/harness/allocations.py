# SPDX-License-Identifier: Apache-2.0
"""Counts the heap allocations and the instructions of one fetch of `lastro bench`, with callgrind."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from .reuse import program
from .servers import KIB, Servers

FUNCTIONS = ("malloc", "calloc", "realloc", "posix_memalign")
LIMIT = 13.0
"""The most allocations of a fetch. Some 1.3 of them are libdispatch's, for tasks that are woken."""
CONCURRENCY = 16
FEW, MANY = 1000, 3000
"""Two runs are subtracted, so that the cost of starting does not count."""
FUNCTION = re.compile(r"c?fn=\((\d+)\)(?: (.*))?$")


def counts(profile: Path) -> Counter[str]:
    """Returns the number of calls of each of `FUNCTIONS`, and of all `instructions`, from a file of callgrind."""
    names: dict[str, str] = {}
    found: Counter[str] = Counter()
    called = ""
    with profile.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("calls="):
                if called in FUNCTIONS:
                    found[called] += int(line[len("calls="):].split()[0])
            elif line.startswith("totals:"):
                found["instructions"] = int(line.split()[1])
            elif match := FUNCTION.match(line):
                if match[2] is not None:
                    # Callgrind appends the level of a recursion.
                    names[match[1]] = match[2].partition("'")[0]
                if line.startswith("cfn="):
                    called = names[match[1]]
    return found


def profiled(command: Path, url: str, requests: int, folder: Path) -> Counter[str]:
    profile = folder / f"callgrind.{requests}"
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", str(command), "bench", url, "--requests",
         str(requests), "--concurrency", str(CONCURRENCY)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=600)
    if done.returncode != 0 or json.loads(done.stdout)["ok"] != requests:
        raise RuntimeError(f"lastro bench failed under valgrind: {done.stdout}{done.stderr[-2000:]}")
    return counts(profile)


def of_one_fetch(few: Mapping[str, int], many: Mapping[str, int]) -> dict[str, float]:
    return {name: (many[name] - few[name]) / (MANY - FEW) for name in (*FUNCTIONS, "instructions")}


def measure(servers: Servers) -> bool:
    """Prints the counts; returns whether the allocations are within their limit."""
    with tempfile.TemporaryDirectory(prefix="lastro-allocations-") as name:
        folder = Path(name)
        command = folder / "lastro"
        shutil.copy(program(), command)
        # Valgrind does not read all debug information that Swift's compiler writes.
        subprocess.run(["objcopy", "--strip-debug", str(command)], check=True)
        few, many = (profiled(command, servers.url(1, str(KIB)), requests, folder) for requests in (FEW, MANY))
    figures = of_one_fetch(few, many)
    allocations = sum(figures[function] for function in FUNCTIONS)
    if allocations <= 0:
        raise RuntimeError("callgrind counted no allocation: the program lacks its symbols")
    each = ", ".join(f"{function} {figures[function]:.1f}" for function in FUNCTIONS)
    met = allocations <= LIMIT
    print(f"a fetch (HTTP/1.1, 1 KiB, {CONCURRENCY} at a time): {allocations:.1f} allocations ({each}), "
          f"{'at most' if met else 'MORE THAN'} {LIMIT:g}; {figures['instructions']:,.0f} instructions", flush=True)
    return met
