# SPDX-License-Identifier: Apache-2.0
"""Starts programs so that each is ended by its own process id, whatever happens."""
from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path


def raise_descriptor_limit() -> int:
    """Raises this process's limit of open files as far as it may; children inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def end_on_signals() -> None:
    """Lets the signals that end a program unwind it, so that what it started is ended too."""
    def stop(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def end(process: subprocess.Popen, patience: float = 5) -> None:
    """Asks the process to end, and makes it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


@contextlib.contextmanager
def running(command: Sequence[str | os.PathLike[str]], log: Path) -> Iterator[subprocess.Popen]:
    """A server that runs as long as the context; its standard error goes to `log`."""
    with log.open("ab") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
    try:
        yield process
    finally:
        end(process)
        process.stdout.close()


def first_line(process: subprocess.Popen, log: Path, patience: float = 10) -> str:
    """What a server prints when it is ready."""
    readable, _, _ = select.select([process.stdout], [], [], patience)
    line = process.stdout.readline().decode().strip() if readable else ""
    if not line:
        raise RuntimeError(f"{process.args[0]} did not start: {log.read_text(errors='replace')[-2000:]}")
    return line


def wait_until(ready, what: str, patience: float = 10) -> None:
    """Asks `ready()` until it holds."""
    limit = time.monotonic() + patience
    while not ready():
        if time.monotonic() > limit:
            raise RuntimeError(f"{what} did not happen within {patience:.0f} s")
        time.sleep(0.02)
