# SPDX-License-Identifier: Apache-2.0
"""How often requests find a connection with one event loop and with several: `lastro bench` over a thousand origins."""
from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .clients import BENCHMARKS, build_step, jobs
from .servers import IDLE_HOSTS, KIB, Servers, idle_host

LOOPS = (1, 4)
CONCURRENCY = 64
LEAST = 0.99
"""What several loops must reach of one loop's ratio with the same limits."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """A distribution of requests over origins, and a limit of idle connections."""
    zipf: float
    idle_connections: int


SETTINGS = (Setting(1.0, 256), Setting(1.0, 2000), Setting(0.8, 256), Setting(1.2, 256))


def program() -> Path:
    """`lastro`, built for release; `LASTRO` names one that is built already."""
    if built := os.environ.get("LASTRO"):
        return Path(built)
    options = ["-c", "release", "--package-path", str(BENCHMARKS.parent)]
    build_step("swift", "build", *options, "-j", jobs(), "--product", "lastro")
    return Path(build_step("swift", "build", *options, "--show-bin-path").strip().splitlines()[-1]) / "lastro"


def bench(command: Path, urls: Sequence[str], setting: Setting, loops: int, requests: int) -> dict[str, float]:
    done = subprocess.run(
        [command, "bench", *urls, "--requests", str(requests), "--concurrency", str(CONCURRENCY),
         "--loops", str(loops), "--zipf", str(setting.zipf), "--idle-connections", str(setting.idle_connections)],
        env={name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
        stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"lastro bench failed: {done.stdout}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure(servers: Servers, rounds: int, requests: int = 100_000) -> bool:
    """Prints the ratios; returns whether several loops reach what they must in every round."""
    command = program()
    urls = [servers.idle.replace("{n}", idle_host(number)) + f"/{KIB}" for number in range(IDLE_HOSTS)]
    print(f"{requests:,} requests to {len(urls):,} origins, {CONCURRENCY} at a time", flush=True)
    met = True
    for setting in SETTINGS:
        for _ in range(rounds):
            results = [bench(command, urls, setting, loops, requests) for loops in LOOPS]
            ratio = results[1]["reuse"] / results[0]["reuse"]
            met = met and ratio >= LEAST
            parts = (f"{loops} loop{'s' if loops > 1 else ''}: {result['opened']:.0f} opened, reuse {result['reuse']:.4f}"
                     for loops, result in zip(LOOPS, results))
            print(f"Zipf {setting.zipf}, {setting.idle_connections} idle  {'  '.join(parts)}  ratio {ratio:.4f}",
                  flush=True)
    return met
