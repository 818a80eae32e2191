# SPDX-License-Identifier: Apache-2.0
"""The programs that are compared: how each is built, and one run of one of them."""
from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent
BUILD = BENCHMARKS / "build"
FLOOR = "floor"
CANNOT = 3
"""Exit status of a client that has no such scenario."""


class ClientFailure(Exception):
    """A client gave no result where it should have."""


class Unsupported(Exception):
    """The client says that it cannot do this."""


@dataclasses.dataclass(frozen=True)
class Client:
    name: str
    title: str
    program: Path


def jobs() -> str:
    return os.environ.get("JOBS") or str(os.cpu_count() or 2)


def build_step(*command: str | Path, folder: Path = BENCHMARKS, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, **(environment or {})},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def build_floor(_: str) -> Path:
    program = BUILD / "floor"
    sources = sorted((BENCHMARKS / "Floor").glob("*.c"))
    build_step("cc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-o", program, *sources, "-lcurl")
    return program


def build_go(name: str, folder: str) -> Path:
    BUILD.mkdir(exist_ok=True)
    program = BUILD / name
    # It has no dependencies: nothing is to be asked of a network.
    build_step("go", "build", "-trimpath", "-o", program, folder, folder=BENCHMARKS / "Go",
               environment={"GOPROXY": "off", "GOFLAGS": "-buildvcs=false"})
    return program


def build_swift(product: str, configuration: str) -> Path:
    if (built := os.environ.get("BUILT_PROGRAMS")) and configuration == "debug":
        return Path(built).absolute() / product
    options = ["-c", configuration, "--package-path", str(BENCHMARKS)]
    build_step("swift", "build", *options, "-j", jobs(), "--product", product)
    return Path(build_step("swift", "build", *options, "--show-bin-path").strip().splitlines()[-1]) / product


BUILDERS: dict[str, tuple[str, Callable[[str], Path]]] = {
    FLOOR: ("C on libcurl", build_floor),
    "lastro": ("Lastro", functools.partial(build_swift, "lastro-bench")),
    "go": ("Go net/http", lambda _: build_go("go-bench", ".")),
    "asynchttpclient": ("AsyncHTTPClient", functools.partial(build_swift, "asynchttpclient-bench")),
    "urlsession": ("URLSession", functools.partial(build_swift, "urlsession-bench")),
}


def build(name: str, configuration: str) -> Client:
    """The configuration is Swift's: debug or release."""
    BUILD.mkdir(exist_ok=True)
    title, builder = BUILDERS[name]
    return Client(name, title, builder(configuration))


@dataclasses.dataclass(frozen=True)
class Run:
    """What one run of a client came to; times are of its measured part."""
    requests: int
    bytes: int
    wall_ns: int
    user_us: int
    system_us: int
    peak_rss_kib: int
    idle_rss_kib: int

    def without(self, start: Run) -> Run:
        """Without what a start took. What is left is never less than nothing; memory stays what it was."""
        return dataclasses.replace(self, wall_ns=max(0, self.wall_ns - start.wall_ns),
                                   user_us=max(0, self.user_us - start.user_us),
                                   system_us=max(0, self.system_us - start.system_us))

    @property
    def cpu_us_per_request(self) -> float:
        return (self.user_us + self.system_us) / self.requests

    @property
    def wall_us_per_request(self) -> float:
        return self.wall_ns / 1000 / self.requests

    @property
    def peak_mib(self) -> float:
        return self.peak_rss_kib / 1024


def run_client(client: Client, scenario: str, keys: Mapping[str, str | int], patience: float) -> Run:
    """One run. The result has to say that all was done that was asked for."""
    command = [str(client.program), scenario, *(f"{key}={value}" for key, value in keys.items())]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                              timeout=patience)
    except subprocess.TimeoutExpired:
        raise ClientFailure(f"no result after {patience:.0f} s") from None
    reason = " ".join(done.stderr.split()).removeprefix(f"{client.name}: ")[-500:]
    if done.returncode == CANNOT:
        raise Unsupported(reason)
    if done.returncode != 0:
        raise ClientFailure(f"exit status {done.returncode}: {reason}")
    return read_result(done.stdout, client.name, scenario, int(keys["requests"]))


def read_result(line: str, client: str, scenario: str, requests: int) -> Run:
    try:
        result = json.loads(line)
        run = Run(**{field.name: int(result[field.name]) for field in dataclasses.fields(Run)})
    except (ValueError, KeyError, TypeError) as error:
        raise ClientFailure(f"its result cannot be read ({error!r}): {line[:200]!r}") from None
    if (result.get("client"), result.get("scenario"), run.requests) != (client, scenario, requests):
        raise ClientFailure(f"its result is of something else: {line[:200]!r}")
    return run
