# SPDX-License-Identifier: Apache-2.0
"""Type-checks first guesses at the API, in `Tests/Outside`: FirstGuesses.swift compiles, with at most 1.2 times the work for
FirstGuessesSpelledOut.swift; in FirstGuessesTaught.swift only the lines with a comment fail, with that text."""
import pathlib
import re
import resource
import subprocess
import sys

import tree

BUILD, FOLDER = pathlib.Path(".build/release"), "Tests/Outside/FirstGuesses"
CHECK = ["swiftc", "-typecheck", "-swift-version", "6", "-enable-upcoming-feature", "MemberImportVisibility",
         "-diagnostic-style", "llvm", "-I", BUILD / "Modules"]
CHECK += [word for path in BUILD.glob("CL*.build/module.modulemap") for word in ("-Xcc", f"-fmodule-map-file={path}")]


def work(name):
    """Returns the compiler's seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    if subprocess.run([*CHECK, f"{FOLDER}{name}.swift"]).returncode:
        sys.exit(1)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


# Seconds vary, and their least hardly does.
guesses, spelled = map(min, zip(*[(work(""), work("SpelledOut")) for _ in range(25)]))
print(f"first guesses: {guesses / spelled:.2f} times the work of the spelled-out calls")
taught = f"{FOLDER}Taught.swift"
printed = subprocess.run([*CHECK, taught], stderr=subprocess.PIPE, text=True).stderr
errors = dict(re.findall(r":(\d+):\d+: error: (.*)", printed))
for number, line in enumerate(tree.read(taught).splitlines(), 1):
    text, error = re.search(r"(?:\S  // (.+))?$", line)[1], errors.get(str(number))
    if (text or "") not in (error or "") or bool(text) != bool(error):
        sys.exit(f"{taught}:{number}: the error is: {error or 'none'}")
sys.exit(guesses > 1.2 * spelled)
