# SPDX-License-Identifier: Apache-2.0
"""One long-lived `lastro batch`."""
from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_numbers = itertools.count()


def environment(reports: Path) -> dict[str, str]:
    result = {key: value for key, value in os.environ.items() if key.lower() not in PROXIES}
    lists = ROOT / "Tests" / "Sanitizers"
    result["ASAN_OPTIONS"] = (f"log_path={reports}:detect_leaks=1:detect_stack_use_after_return=1:"
                              f"suppressions={lists}/suppressions.address")
    result["LSAN_OPTIONS"] = f"suppressions={lists}/suppressions.leak:print_suppressions=0"
    return result


class Batch:
    def __init__(self, program: str, folder: Path):
        self._reports = folder / f"report-{os.getpid()}-{next(_numbers)}"
        self._errors = open(f"{self._reports}.stderr", "w+b")
        self._process = subprocess.Popen([program, "batch", "--concurrency", "1"],
                                         stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE,
                                         stderr=self._errors,
                                         env=environment(self._reports),
                                         bufsize=0)
        self.output = self._process.stdout.fileno()
        os.set_blocking(self.output, False)
        self._data = b""
        self.ended = False

    def ask(self, request: dict) -> None:
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
        except BrokenPipeError:
            pass

    def receive(self) -> dict | None:
        """The next result, if it is there."""
        data = self._process.stdout.read(1 << 20)
        if data == b"":
            self.ended = True
        self._data += data or b""
        line, separator, rest = self._data.partition(b"\n")
        if not separator:
            return None
        self._data = rest
        return json.loads(line)

    def finish(self, limit: float) -> str | None:
        """Ends it by the end of its input. Tells what is wrong with how it went: its status, and sanitizers' reports."""
        self._process.stdin.close()
        try:
            status = self._process.wait(limit)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"does not end within {limit:.0f} s of the end of its input"
        finally:
            self._process.stdout.close()
        return self._verdict(status)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _verdict(self, status: int) -> str | None:
        found = [
            path.read_text(errors="replace") for path in self._reports.parent.glob(self._reports.name + ".*")
            if path.suffix != ".stderr"
        ]
        self._errors.seek(0)
        told = self._errors.read().decode(errors="replace")
        self._errors.close()
        if status == 0 and not any(found):
            return None
        return "\n".join([f"ended with status {status}"] + found + [told])
