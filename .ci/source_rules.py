# SPDX-License-Identifier: Apache-2.0
"""Checks what the compiler does not: licence lines, who imports whom, and words that need a reason."""
import pathlib
import re
import subprocess
import sys

# Per target: modules it must not import. `None` means: nothing at all, but what ALLOWED has.
# What no library for production may know.
_TESTS = {"CLoopback", "LastroTesting", "LastroStreamsTesting", "Testing", "XCTest"}
_ENGINE = {"CLastro", "LastroCurl", "LastroCurlTransports"}
_OTHER_SYSTEMS = {"LastroWebSocket", "LastroGemini", "LastroTunnels", "LastroTransports"}
_OBSERVABILITY = {"CoreMetrics", "Metrics", "Tracing", "LastroObservability"}
_LEAF = _TESTS | _ENGINE | _OBSERVABILITY | {"CLastroCrypto", "Dispatch"}
FORBIDDEN = {
    "LastroSupport": None,
    "LastroWire": None,
    "Lastro": _TESTS | _ENGINE | _OTHER_SYSTEMS | _OBSERVABILITY | {"Dispatch", "LastroExchange"},
    "LastroExchange": _LEAF | _OTHER_SYSTEMS,
    "LastroWebSocket": _LEAF | _OTHER_SYSTEMS,
    "LastroGemini": _LEAF | _OTHER_SYSTEMS,
    "LastroTunnels": _LEAF | _OTHER_SYSTEMS,
    "LastroTransports": _TESTS | _ENGINE | _OBSERVABILITY | {"CLastroCrypto"},
    "LastroObservability": _TESTS | _ENGINE | _OTHER_SYSTEMS | {"CLastroCrypto", "Dispatch", "LastroWire"},
    "LastroCurl": _TESTS | _OTHER_SYSTEMS | _OBSERVABILITY | {"CLastroCrypto"},
    "LastroCurlTransports": _TESTS | _OBSERVABILITY | {"CLastro", "CLastroCrypto", "LastroWebSocket", "LastroGemini"},
    "LastroTesting": _ENGINE | _OTHER_SYSTEMS | _OBSERVABILITY | {"CLastroCrypto", "LastroStreamsTesting", "Testing", "XCTest"},
    "LastroStreamsTesting": _ENGINE | _OBSERVABILITY | {"CLastroCrypto", "Testing", "XCTest"},
    "LastroCommand": _TESTS | {"CLastro", "CLastroCrypto"},
}
ALLOWED = {"LastroSupport": {"Glibc", "Darwin"}, "LastroWire": {"CLastroZlib"}}
EVERYWHERE = {"FoundationNetworking", "CCurl", "Ccurl", "curl"}
# What Lastro is measured against.
FOUNDATIONNETWORKING_USERS = {("Benchmarks", "Sources", "URLSessionBench")}
LASTROCURL_IMPORTERS = {"LastroCommand", "LastroCurlTransports"}

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+"
    r"(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)")
UNCHECKED = re.compile(r"@unchecked\s+Sendable|nonisolated\(unsafe\)")
TRAPS = re.compile(r"\btry!|\bfatalError\(|\bpreconditionFailure\(|\bassertionFailure\(|\bas!\s")
# Words of comments and texts in Sources, which Docs/Names.md explains; those of COUNTED wait for their last occurrence.
COMMENT = re.compile(r"(?:^|[^:])//(.*)")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
BANNED = {"heeds, forsake": lambda code, comment: re.search(r"\b(?:heeds|forsake)\b", comment, re.IGNORECASE)}
COUNTED = {
    "whoever, somebody, nobody": lambda code, comment: re.search(r"\b(?:whoever|somebody|nobody)\b", comment, re.IGNORECASE),
    "comment lines over 120 columns": lambda code, comment: not code.strip() and len(code) + len(comment) + 2 > 120,
    "is none, is no …": lambda code, comment: any(
        re.search(r" is none\b| is no [a-z]+", text) for text in LITERAL.findall(code)),
}
LIMIT = {"Sources": 400, "Tests": 600, "Playgrounds": 400, "Benchmarks": 400}


def tracked():
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
                           capture_output=True, text=True).stdout.split("\0")
    paths = {pathlib.Path(name) for name in names if name and pathlib.Path(name).is_file()}
    # README's example is copied from there word for word.
    return sorted(path for path in paths if path.parts[:3] != ("Tests", "Consumer", "Sources"))


def code_of(line):
    """The line without its comment; strings are left alone, which is good enough for what is looked for."""
    return re.sub(r"(?<!:)//.*", "", line)


def has_reason(lines, index):
    """A because in a comment on the line, the next line, or the block directly above (attributes may stand between)."""
    comments = [line.partition("//")[2] for line in lines[index:index + 2]]
    above = index - 1
    while above >= 0 and (lines[above].strip().startswith(("//", "@"))):
        comments.append(lines[above].partition("//")[2])
        above -= 1
    return any(re.search(r"\bbecause\b", comment, re.IGNORECASE) for comment in comments)


def words_of(line, rules):
    """Names of the rules that the line breaks."""
    found = COMMENT.search(line)
    code, comment = (line[:found.start(1) - 2], found[1]) if found else (line, "")
    return [name for name, breaks in rules.items() if breaks(code, comment)]


def count_words():
    counts = dict.fromkeys([*BANNED, *COUNTED], 0)
    for path in tracked():
        if path.parts[0] == "Sources" and path.suffix in {".swift", ".c", ".h"}:
            for line in path.read_text(encoding="utf-8").splitlines():
                for name in words_of(line, BANNED | COUNTED):
                    counts[name] += 1
    print("\n".join(f"{count:5} {name}" for name, count in counts.items()))
    return 0


def swift_findings(path, lines):
    if path.name != "Package.swift" and len(lines) > LIMIT.get(path.parts[0], 10**9):
        yield len(lines), f"{len(lines)} lines, {LIMIT[path.parts[0]]} are allowed"
    target = path.parts[1] if path.parts[0] == "Sources" and len(path.parts) > 2 else None
    for index, line in enumerate(lines):
        code = code_of(line)
        if found := IMPORT.match(code):
            module = found[1]
            rule = FORBIDDEN.get(target, set())
            rule = rule and rule - {target}
            if module == "FoundationNetworking" and path.parts[:3] in FOUNDATIONNETWORKING_USERS:
                continue
            if module in EVERYWHERE:
                yield index + 1, f"nothing may import {module}"
            elif target and rule is None and module not in ALLOWED[target]:
                yield index + 1, f"{target} may import nothing, not even {module}"
            elif target and rule and module in rule:
                yield index + 1, f"{target} may not import {module}"
            elif target and module == "LastroCurl" and target not in LASTROCURL_IMPORTERS:
                yield index + 1, "only a composition root may import LastroCurl"
        if UNCHECKED.search(code) and not has_reason(lines, index):
            yield index + 1, "does not say why it is safe, on the line or beside it (write: because …)"
        if path.parts[0] == "Sources" and (words := words_of(line, BANNED)):
            yield index + 1, f"a word that Docs/Names.md bans: {', '.join(words)}"
        if path.parts[0] == "Sources" and TRAPS.search(code):
            yield index + 1, "a trap: throw a typed error"
        if path.parts[0] == "Tests" and re.search(r"\.disabled\(|XCTSkip|withKnownIssue", code):
            yield index + 1, "a test that does not count"


def licence_line(path, lines):
    first = "\n".join(lines[:3])
    if path.suffix in {".swift", ".c", ".h", ".py", ".sh"} or path.name == "Makefile" or path.parts[0] == ".ci":
        if path.name == "Package.swift":
            return "SPDX-License-Identifier: Apache-2.0" in first
        if path.suffix in {".swift", ".c", ".h"}:
            return bool(lines) and lines[0] == "// SPDX-License-Identifier: Apache-2.0"
        return path.parts[:2] == (".ci", "suppressions") or "SPDX-License-Identifier: Apache-2.0" in first
    return True


def stale_skips():
    """Suites that a sanitizer is told to leave out and that are not there."""
    suites = {name for path in tracked() if path.parts[0] == "Tests" and path.suffix == ".swift"
              for name in re.findall(r"\b(?:struct|class|enum|actor) (\w+Tests)\b", path.read_text(encoding="utf-8"))}
    targets = {path.name for path in pathlib.Path("Tests").iterdir()}
    for path in sorted(pathlib.Path(".ci").glob("skips.*")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for name in [] if line.startswith("#") else re.findall(r"\w+Tests\b", line):
                if name not in suites | targets:
                    print(f"{path}:{number}: no suite or target is named {name}")
                    yield name


def main():
    findings = sum(1 for _ in stale_skips())
    for path in tracked():
        if path.suffix not in {".swift", ".c", ".h", ".py", ".sh"} and path.name != "Makefile" and path.parts[0] != ".ci":
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [] if licence_line(path, lines) else [(1, "no SPDX line")]
        if path.suffix == ".swift":
            found += swift_findings(path, lines)
        for number, message in found:
            print(f"{path}:{number}: {message}")
        findings += len(found)
    return 1 if findings else 0


sys.exit(count_words() if sys.argv[1:] == ["words"] else main())
