# SPDX-License-Identifier: Apache-2.0
"""Starts programs so that each is ended by its own process id, whatever happens."""
from __future__ import annotations

import contextlib
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

Command = Sequence[str]


def raise_descriptor_limit() -> int:
    """Raises this process's limit of open files as far as it may; children inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def end_on_signals() -> None:
    """Lets the signals that end a program unwind it, so that what it started is ended too."""
    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def end(process: subprocess.Popen[bytes], patience: float = 5) -> None:
    """Asks the process to end, and makes it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


@contextlib.contextmanager
def running(command: Command, log: Path) -> Iterator[None]:
    """A server that runs as long as the context; what it prints goes to `log`."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield
    finally:
        end(process)


@contextlib.contextmanager
def running_on_port(command: Command, log: Path, patience: float = 10) -> Iterator[int]:
    """Like `running`, for a server that prints its port when it is ready."""
    with running(command, log):
        wait_until(lambda: log.read_bytes().endswith(b"\n"), log, patience)
        text = log.read_text(errors="replace").strip()
        if not text.isdigit():
            raise RuntimeError(f"{command}: {text}")
        yield int(text)


def wait_until(ready: Callable[[], bool], log: Path, patience: float = 10) -> None:
    """Asks `ready()` until it holds. `log` tells why it never did."""
    limit = time.monotonic() + patience
    while not ready():
        if time.monotonic() > limit:
            raise RuntimeError(f"{log.stem} did not start: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.02)
