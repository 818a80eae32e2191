# SPDX-License-Identifier: Apache-2.0
"""Compiles LastroTransports beside a stub of Apple's Network framework, so that its file for Apple platforms is checked. The
manifest of the build (`make build`) says how the target is compiled."""
import json
import pathlib
import subprocess
import sys
import tempfile

STUB = "Tests/Streams/NetworkStub/Network.swift"
KEPT = {"-I", "-module-name", "-target", "-Xcc", "-swift-version", "-enable-upcoming-feature", "-package-name"}

manifest = max(pathlib.Path(".build").glob("*.yaml"), key=lambda path: path.stat().st_mtime)
line = next(line for line in manifest.open(encoding="utf-8") if '"-module-name","LastroTransports",' in line)
words = json.loads(line.partition("args: ")[2])
given = [word for pair in zip(words, words[1:]) if pair[0] in KEPT for word in pair]
given += [word for word in words if word.startswith(("-D", "@"))]
with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["swiftc", "-emit-module", "-module-name", "Network", "-enable-library-evolution", "-suppress-warnings",
                    "-swift-version", "6", "-enable-upcoming-feature", "InternalImportsByDefault", "-o",
                    f"{folder}/Network.swiftmodule", STUB], check=True)
    sys.exit(subprocess.run(["swiftc", "-typecheck", "-warnings-as-errors", *given, "-I", folder]).returncode)
