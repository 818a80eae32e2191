# SPDX-License-Identifier: Apache-2.0
"""The package that the guide "Getting started" has its reader make, and what its program prints."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "Docs/Lastro.docc/GettingStarted.md"
FILE = re.compile(r"<!-- (?:sample|file): (\S+\.swift) -->\n```swift\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTS = re.compile(r"<!-- prints: program -->\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def guide():
    return (ROOT / PAGE).read_text(encoding="utf-8")


def write(package):
    """Writes the guide's files, and leaves what was built of them."""
    for folder in ("Sources", "Tests"):
        shutil.rmtree(package / folder, ignore_errors=True)
    for path, text in FILE.findall(guide()):
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text, encoding="utf-8")


def prints_what_the_guide_says(program, lastro):
    """Runs the program against the API that the command `lastro serve` stands for, and once more when that is gone: then it
    has to end in one line, with status 1, and in no trap."""
    expected = PRINTS.search(guide())[1]
    serving = subprocess.Popen([*lastro, "serve"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        told = serving.stdout.readline().split()[1:]
        if not told:
            sys.exit("`lastro serve` ended without a word of its address.")
        # A proxy from the environment would stand between the program and the server.
        own = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        settings = dict(word.split("=", 1) for word in told)
        printed = subprocess.run(program, check=True, env=own | settings, timeout=120,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout
    finally:
        serving.terminate()
        serving.wait(30)
    print(printed, end="", flush=True)
    if printed != expected:
        print(f"The guide says that its program prints:\n{expected}", file=sys.stderr)
        return False
    gone = subprocess.run(program, env=own | settings, timeout=120, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True)
    print(gone.stdout, end="", flush=True)
    if (gone.returncode, gone.stdout.count("\n"), gone.stdout.startswith("connect/connect_failed: ")) != (1, 1, True):
        print(f"Without its API the guide's program ended with status {gone.returncode}.", file=sys.stderr)
        return False
    return True
