# SPDX-License-Identifier: Apache-2.0
"""Checks what the compiler does not: who imports whom, licence lines, length, words that need a reason, names of tests,
and words that no text of an error has."""
import pathlib
import re
import subprocess
import sys

# A target uses its own floor and those in front of it.
FLOORS = ["Core", "Everyday", "Streams", "Testing", "Tools"]
# Modules that only these targets may import.
ONLY = {
    "CLastro": "LastroCurl", "CLastroHTTP2": "LastroHTTP", "CLastroSQLite": "LastroSQLiteCache",
    "CLastroPrimitives": "Lastro LastroTunnels LastroWire", "CLoopback": "LastroTesting LastroStreamsTesting",
    # The engine is chosen where a program is put together, and features do not know of it.
    "LastroCurl": "LastroLifecycle LastroTransports LastroCommand",
    "LastroHTTP": "LastroCurl LastroWebSocket LastroTunnels LastroTransports LastroCommand",
    "LastroEveryday": "LastroSQLiteCache LastroCommand",
    "CoreMetrics": "LastroObservability", "Tracing": "LastroObservability",
    "ServiceLifecycle": "LastroLifecycle", "ArgumentParser": "LastroCommand",
    "Dispatch": "LastroCurl LastroTransports LastroStreamsTesting LastroCommand",
    "Foundation": "LastroTransports LastroCommand", "Testing": "", "XCTest": "",
}
# Targets that import nothing else.
PURE = {"LastroSupport": {"Glibc"}, "LastroWire": {"CLastroPrimitives"}}
NOWHERE = {"FoundationNetworking", "CCurl", "curl"}
# What Lastro is measured against, and what the guide "Migrating" begins with.
URLSESSION = ("Benchmarks/Sources/URLSessionBench/", "Playgrounds/Sources/Pages/Migrating/Before.swift")
IMPORT = re.compile(r"\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+"
                    r"(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)")
UNCHECKED = re.compile(r"@unchecked\s+Sendable|nonisolated\(unsafe\)")
# Lines that a folder may not have. Texts of errors are about values, and name what is wrong with them: see Docs/Names.md.
FORBIDDEN = [
    # swift format reports `try!`, `as!` and `!`.
    ("Sources", r"\b(?:fatalError|preconditionFailure|assertionFailure)\(", "a trap: throw a typed error"),
    ("Sources", r'"[^"]*(?: is none\b| is no [a-z]|\b(?:whoever|somebody|nobody)\b)',
     "a text says is none, is no …, whoever, somebody or nobody"),
    ("Sources", r'\b(?:message|hint): "[^"]*[^.]\."[,)]', "an error's text ends in a full stop"),
    ("Tests", r"\.disabled\(|XCTSkip|withKnownIssue", "a test that does not count"),
]
SUITE = re.compile(r"^@Suite(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?(?=\s)", re.MULTILINE)
LIMITED = re.compile(r"\.timeLimit\(\.minutes\((?:SoakTime\.minutes \+ )?[1-5]\)\)")
UNTITLED = re.compile(r'@(Test|Suite)\b(?!\(\s*#*")')
FILE_LINES = 600


def tracked():
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
                           capture_output=True, text=True).stdout.split("\0")
    # README's example is copied to Tests/Consumer word for word.
    return sorted(pathlib.Path(name) for name in set(names) if name and pathlib.Path(name).is_file()
                  and not name.startswith("Tests/Consumer/Sources"))


def code_of(line):
    return re.sub(r"(?<!:)//.*", "", line)


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
    """Whether a comment on the line, the next line or directly above says because."""
    above = index
    while above and lines[above - 1].strip().startswith(("//", "@")):
        above -= 1
    return any(re.search(r"\bbecause\b", line.partition("//")[2], re.IGNORECASE) for line in lines[above:index + 2])


def swift_findings(path, lines, modules):
    text, folder = "\n".join(map(code_of, lines)), path.parts[0]
    if path.name != "Package.swift" and len(lines) > FILE_LINES:
        yield len(lines), f"{len(lines)} lines, {FILE_LINES} are allowed"
    for index, code in enumerate(text.split("\n")):
        if (found := IMPORT.match(code)) and (reason := is_foreign(path, found[1], modules)):
            yield index + 1, reason
        if UNCHECKED.search(code) and not has_reason(lines, index):
            yield index + 1, "does not say why it is safe, on the line or beside it (write: because …)"
        yield from ((index + 1, reason) for place, form, reason in FORBIDDEN if folder == place and re.search(form, code))
    if folder == "Tests":
        for found in UNTITLED.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, f"@{found[1]} has no sentence for its name"
        for found in SUITE.finditer(text) if " async" in text else []:
            if not LIMITED.search(found[0]):
                yield text.count("\n", 0, found.start()) + 1, "a suite that waits has .timeLimit(.minutes(5)), or less"


def main():
    paths = tracked()
    modules = {path.parts[2]: path.parts[1] for path in paths if path.parts[0] == "Sources" and len(path.parts) > 3}
    findings = []
    for path in paths:
        if not (path.suffix in {".swift", ".c", ".h", ".py"} or path.name == "Makefile" or path.parts[0] == ".ci"):
            continue
        lines = path.read_text("utf-8").splitlines()
        if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(lines[:3]):
            findings.append(f"{path}:1: no SPDX line")
        if path.suffix == ".swift":
            findings += [f"{path}:{line}: {message}" for line, message in swift_findings(path, lines, modules)]
    return "\n".join(findings) or 0


sys.exit(main())
