# SPDX-License-Identifier: Apache-2.0
"""Runs calls, each with one failure."""
import bisect
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

from .answers import SEEN, UPLOADS
from .calls import CALLS
from .judge import judge

KINDS = ["read", "write", "open", "socket", "connect", "epoll_ctl", "mmap", "thread", "lookup", "files", "option", "wait"]
SUPPRESSIONS = pathlib.Path(__file__).parents[2] / "Sanitizers/suppressions.leak"
Run = collections.namedtuple("Run", "status output errors report folder seen upload")


class Driver:
    def __init__(self, program, library, places, folder, options):
        self.program, self.library, self.options = program, library, options
        self.names, self.folder = vars(places), folder
        self.lock, self.number = threading.Lock(), 0
        self.counts, self.findings, self.known = collections.Counter(), [], collections.Counter()
        # The unwinder of most libraries is slow.
        self.leaks = f"exitcode=99:fast_unwind_on_malloc=0:suppressions={SUPPRESSIONS}"
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
                       "TORTURE_REPORT": str(report), "TORTURE_FAIL": failure, "LSAN_OPTIONS": self.leaks}
        process = subprocess.Popen(self.command(call, names), cwd=folder, env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # A busy machine needs longer.
        limit = self.options.limit * max(1, os.getloadavg()[0] / os.cpu_count())
        try:
            output, errors = process.communicate(call.input.decode().format(**names).encode(), limit)
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
        return Run(process.returncode, self.value(call, output), errors, facts, folder, seen, UPLOADS[name])

    def command(self, call, names):
        words = [word.format(**names) for word in call.line.split()]
        return [f"{self.folder}/torture-calls", *words[1:]] if words[0] == "torture-calls" else [self.program, *words]

    @staticmethod
    def value(call, output):
        if not call.batch:
            return output
        results = [json.loads(line) for line in output.splitlines()]
        return {result["id"]: (result["body_sha256"], (result["error"] or {}).get("code")) for result in results}

    def fail(self, name, kind, failure, good):
        """Runs a call with a failure. Returns whether it had one."""
        call = CALLS[name]
        run = self.run(call, failure)
        hit, found = run.report["hit"], list(judge(call, good, run))
        if hit and call.again and not found:
            second = self.run(call, folder=run.folder)
            found += [f"afterwards {problem}" for problem in judge(call, good, second)]
        shutil.rmtree(run.folder, ignore_errors=True)
        stack = " ".join([*run.report["hit"], *(f"crash {text}" for text in run.report["crash"])])
        with self.lock:
            self.counts[name, kind] += bool(hit)
            self.counts[name, "unreached"] += not hit
            for problem in found:
                where = self.names_of(stack)
                said = run.errors[-3000 if run.status == 99 else -300:].decode(errors="replace")
                line = f"{name} {failure}: {problem}\n  at {where}\n  says {said}"
                reason = next((reason for reason in self.reasons if re.search(reason.partition(" # ")[0], line, re.DOTALL)), None)
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
        if self.options.verbose:
            print(f"{name} {kind}: {number - 1}", flush=True)

    def baseline(self, name):
        """Runs a call without a failure."""
        run = self.run(CALLS[name])
        expected = "succeeded, and must be refused" if run.status == 0 and CALLS[name].refused else None
        problems = [*judge(CALLS[name], run, run), expected]
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

    def symbol(self, offset):
        return self.symbols[bisect.bisect(self.symbols, (int(offset, 16), "~")) - 1][1]

    def names_of(self, stack):
        """Returns a stack with the names of the program's functions, and without the library's own frames."""
        program = re.escape(pathlib.Path(self.program).name)
        named = re.sub(rf"\b{program}\+(\w+):\?", lambda found: self.symbol(found[1]), stack)
        return re.sub(r"libtorture\S+ |libc\.so\S+ |libswift(?:Core|_Conc)\S+ ", "", named)

    def can_fail(self, caller):
        """Whether an allocation is one of C, or one that Swift checks: the compiler's own end the program."""
        module, _, rest = caller.partition("+")
        if module != pathlib.Path(self.program).name:
            return True
        function = self.symbol(rest.partition(":")[0])
        return not function.startswith("$s") or "BodyBlock" in function
