# SPDX-License-Identifier: Apache-2.0
"""Checks imports, licence lines, lengths, words that need a reason, names of tests, and words that no text of an error has."""
import re
import sys

from tree import files, read

# A target uses its own floor and those in front of it.
FLOORS = ["Core", "Everyday", "Fleet", "Streams", "Testing", "Tools"]
# Modules that only these targets may import.
ONLY = {
    "CLastro": "LastroCurl", "CLastroHTTP2": "LastroHTTP", "CLastroSQLite": "LastroSQLiteCache", "CLastroSigning": "LastroSigning",
    "CLastroZstd": "LastroZstd", "CLastroBrotli": "LastroBrotli",
    "CLastroPrimitives": "Lastro LastroFleet LastroTunnels LastroWire", "CLoopback": "LastroTesting LastroStreamsTesting", "CLastroSimulation": "LastroSimulation",
    # The engine is chosen where a program is put together, and features do not know of it.
    "LastroCurl": "LastroLifecycle LastroTransports LastroCommand",
    "LastroHTTP": "LastroCurl LastroWebSocket LastroTunnels LastroTransports LastroSimulation LastroCommand",
    "LastroEveryday": "LastroSQLiteCache LastroFleet LastroCommand",
    "CoreMetrics": "LastroObservability", "Tracing": "LastroObservability",
    "ServiceLifecycle": "LastroLifecycle", "ArgumentParser": "LastroCommand",
    "Dispatch": "LastroCurl LastroTransports LastroStreamsTesting LastroCommand",
    "Foundation": "LastroTransports LastroCommand", "Testing": "", "XCTest": "",
}
# Targets that import nothing else.
PURE = {"LastroSupport": {"Glibc"}, "LastroWire": {"CLastroPrimitives"}}
NOWHERE = {"FoundationNetworking", "CCurl", "curl"}
# What Lastro is measured against.
URLSESSION = ("Benchmarks/Sources/URLSessionBench/", "Playgrounds/Sources/Pages/Migrating/Before.swift")
IMPORT = re.compile(r"\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:\w+\s+)?import\s+(?:[a-z]+\s+)?(\w+)")
# Lines that a folder may not have. Errors are about values, and name what is wrong: see Docs/Names.md.
FORBIDDEN = [
    # swift format reports `try!`, `as!` and `!`.
    ("Sources", r"\b(?:fatalError|preconditionFailure|assertionFailure)\(", "a trap: throw a typed error"),
    ("Sources", r'"[^"]*(?: is none\b| is no [a-z]|\b(?:whoever|somebody|nobody)\b)',
     "a text says is none, is no …, whoever, somebody or nobody"),
    ("Tests", r"\.disabled\(|XCTSkip|withKnownIssue", "a test that does not count"),
]
SUITE = re.compile(r"^@Suite(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?(?=\s)", re.MULTILINE)
LIMITED = re.compile(r"\.timeLimit\(\.minutes\((?:SoakTime\.minutes \+ )?(?:15|30)\)\)")
UNTITLED = re.compile(r'@(Test|Suite)\b(?!\(\s*#*")')
FILE_LINES, SCRIPT_LINES, SCRIPTS_BYTES = 600, 150, 80 * 1024


def is_foreign(path, module, modules):
    """Says why a file may not import a module; nothing where it may."""
    if module in NOWHERE and not str(path).startswith(URLSESSION):
        return f"nothing may import {module}"
    if path.parts[0] != "Sources" or len(path.parts) < 4:
        return None
    floor, target = path.parts[1:3]
    if target in PURE and module not in PURE[target]:
        return f"{target} may not import {module}"
    if target not in ONLY.get(module, target).split():
        return f"only {ONLY[module] or 'tests'} may import {module}"
    if module in modules and FLOORS.index(modules[module]) > FLOORS.index(floor):
        return f"{floor} is below {modules[module]}, which has {module}"
    return None


def has_reason(lines, index):
    """Whether a comment on or beside the line says because."""
    above = index
    while above and lines[above - 1].strip().startswith(("//", "@")):
        above -= 1
    return any(re.search(r"\bbecause\b", line.partition("//")[2], re.IGNORECASE) for line in lines[above:index + 2])


def swift_findings(path, lines, modules):
    text, folder = re.sub(r"(?<!:)//.*", "", "\n".join(lines)), path.parts[0]
    if path.name != "Package.swift" and len(lines) > FILE_LINES:
        yield len(lines), f"{len(lines)} lines, {FILE_LINES} are allowed"
    for number, code in enumerate(text.split("\n"), 1):
        if (found := IMPORT.match(code)) and (reason := is_foreign(path, found[1], modules)):
            yield number, reason
        if re.search(r"@unchecked\s+Sendable|nonisolated\(unsafe\)", code) and not has_reason(lines, number - 1):
            yield number, "does not say why it is safe, on the line or beside it (write: because …)"
        yield from ((number, reason) for place, form, reason in FORBIDDEN if folder == place and re.search(form, code))
    if folder == "Tests":
        found = [(place, f"@{place[1]} has no sentence for its name") for place in UNTITLED.finditer(text)]
        found += [(place, "a suite that waits has .timeLimit(.minutes(15))") for place in SUITE.finditer(text)
                  if " async" in text and not LIMITED.search(place[0])]
        yield from ((text.count("\n", 0, place.start()) + 1, reason) for place, reason in found)


def script_findings(paths):
    # The fuzzers and the harness of the benchmarks are apart.
    texts = {path: path.read_bytes() for path in paths if not re.match("Tests/(Fuzz|Readers|Torture)/|Benchmarks/", str(path))
             and (path.suffix in (".py", ".sh") or path.name in ("run", "check") or path.parts[0] == ".ci")}
    yield from (f"{path}: over {SCRIPT_LINES} lines" for path, text in texts.items() if text.count(b"\n") > SCRIPT_LINES)
    if (size := sum(map(len, texts.values()))) > SCRIPTS_BYTES:
        yield f"the scripts have {size} bytes, {SCRIPTS_BYTES} are allowed"


# README's example is copied to Tests/Consumer word for word.
paths = files(":!Tests/Consumer/Sources")
modules = {path.parts[2]: path.parts[1] for path in paths if path.parts[0] == "Sources" and len(path.parts) > 3}
findings = list(script_findings(paths))
for path in paths:
    if path.suffix in {".swift", ".c", ".h", ".py"} or path.name == "Makefile" or path.parts[0] == ".ci":
        lines = read(path).splitlines()
        if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(lines[:3]):
            findings.append(f"{path}:1: no SPDX line")
        if path.suffix == ".swift":
            findings += [f"{path}:{line}: {message}" for line, message in swift_findings(path, lines, modules)]
sys.exit("\n".join(findings) or 0)
