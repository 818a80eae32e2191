# SPDX-License-Identifier: Apache-2.0
"""Runs a call with one failure, and judges how it ended."""
import bisect
import collections
import json
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

from .calls import CALLS
from .server import SEEN

KINDS = ["read", "write", "open", "socket", "connect", "epoll_ctl", "mmap", "thread", "lookup", "files", "option", "wait"]
TYPED = re.compile(rb"^lastro: (\w+/\w+:|cannot |the connection|some cookies|no )", re.MULTILINE)
STATUSES = {1, 3, 5, 6, 7, 22, 23, 28, 35, 47, 55, 56, 60, 63, 77}
Run = collections.namedtuple("Run", "status output errors report folder seen")


class Driver:
    def __init__(self, program, library, places, folder, options):
        self.program, self.library, self.options = program, library, options
        self.names, self.folder = vars(places), folder
        self.lock, self.number = threading.Lock(), 0
        self.counts, self.findings, self.known = collections.Counter(), [], collections.Counter()
        self.reasons = [line for line in options.known.read_text().splitlines() if line and not line.startswith("#")]
        symbols = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True).stdout
        self.symbols = sorted((int(line[:16], 16), line[19:]) for line in symbols.splitlines() if line[17] in "tTwW")

    def run(self, call, failure="", folder=None):
        with self.lock:
            self.number += 1
            name = f"r{self.number}"
        if folder is None:
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            for file, content in call.files.items():
                (folder / file).write_bytes(content)
        report = folder.with_suffix("." + name)
        names = self.names | {"run": name}
        environment = {"HOME": str(folder), "TMPDIR": str(folder), "PATH": "/usr/bin", "LD_PRELOAD": self.library,
                       "TORTURE_REPORT": str(report), "TORTURE_FAIL": failure}
        process = subprocess.Popen([self.program, *(word.format(**names) for word in call.line.split())], cwd=folder, env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            output, errors = process.communicate(call.input.decode().format(**names).encode(), self.options.limit)
        except subprocess.TimeoutExpired:
            if self.options.stop:
                print(f"{process.pid} hangs: {call.line} {failure}", flush=True)
                process.wait()
            process.send_signal(signal.SIGKILL)
            output, errors = process.communicate()
            errors += b"\nhang"
        lines = report.read_text(errors="replace").splitlines() if report.exists() else []
        report.unlink(missing_ok=True)
        facts = collections.defaultdict(list)
        for line in lines:
            word, _, rest = line.partition(" ")
            facts[word].append(rest)
        seen = {key[1:]: count for key, count in list(SEEN.items()) if key[0] == name}
        return Run(process.returncode, self.value(call, output), errors, facts, folder, seen)

    @staticmethod
    def value(call, output):
        if not call.batch:
            return output
        results = [json.loads(line) for line in output.splitlines()]
        return {result["id"]: (result["body_sha256"], (result["error"] or {}).get("code")) for result in results}

    def judge(self, call, good, run):
        """Says what is wrong with the end of a run."""
        if run.errors.endswith(b"\nhang"):
            yield "hang"
        elif run.status < 0:
            yield f"crash by signal {-run.status}"
        elif run.status == 0 and good.status == 0:
            if call.batch:
                if any(run.output.get(key) != value and not run.output.get(key, (0, 0))[1] for key, value in good.output.items()):
                    yield f"neither value nor error: {run.output}"
            elif run.output != good.output:
                yield f"wrong value: {run.output[:80]}"
        elif run.status == 0:
            yield "succeeded, and must be refused"
        elif run.status not in STATUSES:
            yield f"status {run.status}: {run.errors[:200]}"
        elif not TYPED.search(run.errors) and "write" not in (run.report["hit"] or [""])[0]:
            yield f"status {run.status} without a typed error: {run.errors[:200]}"
        elif not call.batch and call.outcomes == {} and not call.refused and not good.output.startswith(run.output):
            yield f"not a part of the value: {run.output[:80]}"
        if run.status >= 0:
            if not run.report["end"]:
                yield "no report at the end"
            else:
                yield from self.judge_rest(good, run)
        for (method, name), count in run.seen.items():
            if call.refused:
                yield f"{method} {name} was received"
            elif method == "POST" and count > 1:
                yield f"POST {name} was received {count} times"
        for name, contents in call.outcomes.items():
            file = run.folder / name
            content = file.read_bytes() if file.exists() else None
            if content not in (contents[-1:] if run.status == 0 else contents):
                yield f"{name} has {'no' if content is None else len(content)} bytes: {(content or b'')[:40]}"

    @staticmethod
    def judge_rest(good, run):
        more = collections.Counter((run.report["descriptors"] or [""])[0].split())
        more.subtract((good.report["descriptors"] or [""])[0].split())
        if left := [name for name, count in more.items() if count > 0]:
            yield f"descriptors left: {left}"
        if int(run.report["end"][0]) > int(good.report["end"][0]):
            yield f"{run.report['end'][0]} threads left"

    def fail(self, name, kind, failure, good):
        """Runs a call with a failure. Returns whether it had one."""
        call = CALLS[name]
        run = self.run(call, failure)
        hit, found = run.report["hit"], list(self.judge(call, good, run))
        if hit and call.again and not found:
            second = self.run(call, folder=run.folder)
            found += [f"afterwards {problem}" for problem in self.judge(call, good, second)]
        shutil.rmtree(run.folder, ignore_errors=True)
        stack = (run.report["crash"] or run.report["hit"] or [""])[0]
        with self.lock:
            self.counts[name, kind] += bool(hit)
            self.counts[name, "unreached"] += not hit
            for problem in found:
                line = f"{name} {failure}: {problem}\n  hit {' '.join(hit)[:900]}\n  at {stack[:1500]}\n  says {run.errors[-300:]}"
                reason = next((reason for reason in self.reasons if re.search(reason.split("  ")[0], line)), None)
                if reason:
                    self.known[reason] += 1
                else:
                    self.findings.append(line)
                    print(line, flush=True)
        return bool(hit)

    def fail_calls(self, name, kind, good):
        number = 1
        while self.fail(name, kind, f"{kind}:{number}", good):
            number += 1

    def baseline(self, name):
        """Runs a call without a failure."""
        run = self.run(CALLS[name])
        expected = "succeeded, and must be refused" if run.status == 0 and CALLS[name].refused else None
        problems = [*self.judge(CALLS[name], run, run), expected]
        if (run.status != 0) != CALLS[name].refused or any(problems):
            raise RuntimeError(f"{name} without a failure ends with {run.status}: {run.errors} {problems}")
        return run

    def list_stacks(self, names):
        """Lists each call and each call stack of an allocation that no earlier call has."""
        known = set()
        for name in names:
            run = self.run(CALLS[name], "memory:list")
            for line in run.report["memory"]:
                stack, caller = line.split(" ")
                if stack not in known and int(stack, 16) % self.options.every == 0 and self.can_fail(caller):
                    known.add(stack)
                    yield name, stack

    def can_fail(self, caller):
        """Whether an allocation is one of C, or one that Swift checks: the compiler's own end the program."""
        module, _, rest = caller.partition("+")
        if module != pathlib.Path(self.program).name:
            return True
        place = bisect.bisect(self.symbols, (int(rest.partition(":")[0], 16), "~")) - 1
        return not self.symbols[place][1].startswith("$s") or "BodyBlock" in self.symbols[place][1]
