# SPDX-License-Identifier: Apache-2.0
"""Type-checks first guesses at the API, in `Tests/Outside`: FirstGuesses.swift compiles, with at most 1.2 times the
instructions for FirstGuessesSpelledOut.swift; in FirstGuessesTaught.swift only the lines with a comment fail, with that text."""
import pathlib
import re
import shlex
import subprocess
import sys

import tree

BUILD, FOLDER = pathlib.Path(".build/release"), "Tests/Outside/FirstGuesses"
CHECK = ["swiftc", "-typecheck", "-swift-version", "6", "-enable-upcoming-feature", "MemberImportVisibility",
         "-diagnostic-style", "llvm", "-I", BUILD / "Modules"]
CHECK += [word for path in BUILD.glob("CL*.build/module.modulemap") for word in ("-Xcc", f"-fmodule-map-file={path}")]


def work(name):
    """Returns the instructions that the compiler executes."""
    job = subprocess.check_output([*CHECK, f"{FOLDER}{name}.swift", "-driver-print-jobs"], text=True)
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *shlex.split(job)]
    printed = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr
    return int(re.search(r"Collected : (\d+)", printed)[1])


work("")  # Fills a cache.
guesses, spelled = work(""), work("SpelledOut")
print(f"first guesses: {guesses / spelled:.2f} times the instructions of the spelled-out calls")
taught = f"{FOLDER}Taught.swift"
printed = subprocess.run([*CHECK, taught], stderr=subprocess.PIPE, text=True).stderr
errors = dict(re.findall(r":(\d+):\d+: error: (.*)", printed))
for number, line in enumerate(tree.read(taught).splitlines(), 1):
    text, error = re.search(r"(?:\S  // (.+))?$", line)[1], errors.get(str(number))
    if (text or "") not in (error or "") or bool(text) != bool(error):
        sys.exit(f"{taught}:{number}: the error is: {error or 'none'}")
sys.exit(guesses > 1.2 * spelled)
