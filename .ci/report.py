# SPDX-License-Identifier: Apache-2.0
"""Runs `swift test` and prints what a person can read: a line for each suite, and every failure in full.

`report.py EVENTS LOG COMMAND…` has the command write its event stream to EVENTS and everything it prints to LOG. Where the
run does not come to its end (a crash, a hang), it prints the tests that had not ended and what LOG has beside the
progress of tests. A run that tells nothing for SILENCE seconds is ended: no test may take so long. With TELLS_SHARE it says
how much of the machine the run had.
"""
import collections
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

import count

SILENCE = float(os.environ.get("SILENCE", "330"))
PROGRESS = re.compile(r"[◇✔➜] ")


class Run:
    """What the event stream has told so far."""

    def __init__(self):
        self.tests = {}
        self.ran = collections.Counter()
        self.failed = collections.Counter()
        self.running = set()
        self.start = None
        self.has_ended = False

    def suite_of(self, test):
        """The identifier of the innermost suite around a test function."""
        parts = test.split("/")
        return "/".join(parts[:-2]) if len(parts) > 2 else test

    def title(self, test):
        known = self.tests.get(test, {})
        return f"{test.split('.')[0]}: {known.get('displayName') or known.get('name') or test}"

    def take(self, record):
        payload = record["payload"]
        if record["kind"] == "test":
            self.tests[payload["id"]] = payload
            return
        test, kind = payload.get("testID"), payload["kind"]
        # The stream names the cases of tests with arguments only.
        running = (test, payload.get("_testCase", {}).get("displayName"))
        now = payload["instant"]["absolute"]
        self.start = self.start or now
        if kind in ("testStarted", "testCaseStarted"):
            self.running.add(running)
        elif kind in ("testEnded", "testCaseEnded"):
            self.running.discard(running)
        if kind == "testEnded":
            self.end(test, now - self.start)
        elif kind == "testSkipped":
            print(f"➜ {self.title(test)}: skipped: {' '.join(payload.get('_comments', []))}", flush=True)
        elif count.is_failure(payload):
            self.fail(test, payload)
        elif kind == "runEnded":
            self.has_ended = True

    def end(self, test, elapsed):
        if self.is_function(test):
            self.ran[self.suite_of(test)] += 1
        elif self.ran[test]:
            mark = "✘" if self.failed[test] else "✔"
            print(f"{mark} {elapsed:4.0f} s  {self.title(test)} ({self.ran[test]})", flush=True)

    def is_function(self, test):
        return self.tests.get(test, {}).get("kind") == "function"

    def fail(self, test, payload):
        self.failed[self.suite_of(test or "")] += 1
        case = payload.get("_testCase", {}).get("displayName")
        print(f"✘ {self.title(test or 'outside a test')}{f' ({case})' if case else ''}")
        place = payload.get("issue", {}).get("sourceLocation") or {}
        texts = [message["text"] for message in payload.get("messages", [])]
        where = os.path.relpath(place["_filePath"]) + f":{place['line']}" if place.get("_filePath") else "somewhere"
        print("\n".join([f"  {where}: {texts[0] if texts else 'an issue'}",
                         *(f"    {line}" for text in texts[1:] for line in text.splitlines())]), flush=True)

    def unfinished(self):
        """Tests that ran or waited for their turn when the run was over; of those with arguments, the cases that ran."""
        for test, case in sorted(self.running, key=str):
            if self.is_function(test) and (case or not self.tests[test].get("isParameterized")):
                yield f"✘ {self.title(test)}{f' ({case})' if case else ''}: did not end"


def without_progress(log):
    """What the command printed beside the progress of tests, which may span lines where arguments do."""
    spans = False
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if spans or PROGRESS.match(line):
            spans = (spans or line.startswith("◇ Test case")) and not line.endswith("started.")
        else:
            yield line


def ended(process, run, events):
    """Follows the events until the command has ended. Returns why it was ended, if it was."""
    told, rest = time.monotonic(), ""
    with open(events, encoding="utf-8", errors="replace") as stream:
        while True:
            is_over = process.poll() is not None
            if text := stream.read():
                told = time.monotonic()
                *lines, rest = (rest + text).split("\n")
                for record in count.records(line + "\n" for line in lines):
                    run.take(record)
            elif is_over:
                return None
            elif time.monotonic() - told > SILENCE:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return f"no test ended or began for {SILENCE:.0f} s"
            else:
                time.sleep(0.1)


def share(seconds):
    """How much of the processors' time the command and its children had."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) / (seconds * os.cpu_count())


def main(events, log, command):
    events, log = pathlib.Path(events), pathlib.Path(log)
    for path in (events, log):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    run, began = Run(), time.monotonic()
    with log.open("wb") as output:
        # A group of its own, so that what hangs is ended with its children.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        try:
            reason = ended(process, run, events)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if os.environ.get("TELLS_SHARE"):
        print(f"the tests had {share(time.monotonic() - began):.0%} of the machine's processors")
    failures = sum(run.failed.values())
    if run.has_ended and (process.returncode == 0 or failures):
        return process.returncode or (1 if failures else 0)
    print("\n".join([*without_progress(log), *run.unfinished(),
                     f"The run did not come to its end: {reason or f'exit status {process.returncode}'}. All of it: {log}"]))
    return max(process.returncode, 1)


def ended_by_signal(number, _):
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, ended_by_signal)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
