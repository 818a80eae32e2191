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
    "LastroHTTP2": None,
    "LastroObfuscation": None,
    "Lastro": _TESTS | _ENGINE | _OTHER_SYSTEMS | _OBSERVABILITY | {"Dispatch", "LastroHTTP"},
    "LastroHTTP": _LEAF | _OTHER_SYSTEMS,
    "LastroWebSocket": _LEAF | _OTHER_SYSTEMS,
    "LastroGemini": _LEAF | _OTHER_SYSTEMS,
    "LastroTunnels": _LEAF | _OTHER_SYSTEMS,
    "LastroTransports": _TESTS | _ENGINE | _OBSERVABILITY | {"CLastroCrypto"},
    "LastroObservability": _TESTS | _ENGINE | _OTHER_SYSTEMS | {"CLastroCrypto", "Dispatch"},
    "LastroResilience": _LEAF | _OTHER_SYSTEMS | {"LastroHTTP"},
    "LastroFiles": _LEAF | _OTHER_SYSTEMS | {"LastroHTTP", "LastroResilience"},
    "LastroNames": _LEAF | _OTHER_SYSTEMS | {"LastroHTTP", "LastroResilience"},
    "LastroCookies": _LEAF | _OTHER_SYSTEMS | {"LastroHTTP", "LastroNames", "LastroResilience"},
    "LastroMultipart": _LEAF | _OTHER_SYSTEMS | {"LastroHTTP", "LastroResilience"},
    "LastroPages": _LEAF | _OTHER_SYSTEMS | {"LastroHTTP", "LastroResilience"},
    "LastroEvents": _LEAF | _OTHER_SYSTEMS | {"LastroHTTP", "LastroResilience", "LastroNames"},
    "LastroCache": _LEAF | _OTHER_SYSTEMS | {"LastroHTTP", "LastroResilience", "CLastroSQLite"},
    "LastroSQLiteCache": _LEAF | _OTHER_SYSTEMS | {"LastroHTTP", "LastroResilience"},
    "LastroCurl": _TESTS | _OTHER_SYSTEMS | _OBSERVABILITY | {"CLastroCrypto", "ServiceLifecycle"},
    "LastroLifecycle": _TESTS | _OTHER_SYSTEMS | _OBSERVABILITY | {"CLastro", "CLastroCrypto", "Dispatch"},
    "LastroCurlTransports": _TESTS | _OBSERVABILITY | {"CLastro", "CLastroCrypto", "LastroWebSocket", "LastroGemini"},
    "LastroTesting": _ENGINE | _OTHER_SYSTEMS | _OBSERVABILITY | {"CLastroCrypto", "LastroStreamsTesting", "Testing", "XCTest"},
    "LastroStreamsTesting": _ENGINE | _OBSERVABILITY | {"CLastroCrypto", "Testing", "XCTest"},
    # `lastro serve` is the demo API.
    "LastroCommand": (_TESTS - {"LastroTesting"}) | {"CLastro", "CLastroCrypto"},
}
ALLOWED = {"LastroSupport": {"Glibc", "Darwin"}, "LastroWire": {"CLastroZlib"}, "LastroHTTP2": {"CLastroHTTP2", "LastroWire"},
           "LastroObfuscation": {"CLastroObfuscation"}}
EVERYWHERE = {"FoundationNetworking", "CCurl", "Ccurl", "curl"}
# What Lastro is measured against, and what the guide "Migrating" begins with.
FOUNDATIONNETWORKING_USERS = [("Benchmarks", "Sources", "URLSessionBench"),
                              ("Playgrounds", "Sources", "Pages", "Migrating", "Before.swift")]
LASTROCURL_IMPORTERS = {"LastroCommand", "LastroCurlTransports", "LastroLifecycle"}

IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?import\s+"
    r"(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)")
# `init` and `func` that are public, or required by a public protocol.
PUBLIC_PROTOCOL = re.compile(r"public protocol ")
PUBLIC_FUNCTION = re.compile(r"\s*(?:@\S+\s+)*public (?:[a-z]+ )*(?:func\b|init\b)")
REQUIREMENT = re.compile(r"  (?:[a-z]+ )*(?:func\b|init\b)")
UNCHECKED = re.compile(r"@unchecked\s+Sendable|nonisolated\(unsafe\)")
TRAPS = re.compile(r"\btry!|\bfatalError\(|\bpreconditionFailure\(|\bassertionFailure\(|\bas!\s")
# Words of comments, texts and pages, which Docs/Names.md explains.
COMMENT = re.compile(r"(?:^|[^:])//(.*)")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Where the words of comments are looked at, and where those of texts as well: what tests and samples say may quote.
CODE = {"Sources", "Tests", "Playgrounds", "Benchmarks", "Adapters", "Package.swift"}
CODE_WITH_TEXTS = {"Sources", "Benchmarks"}
OF_TEXTS = {"is none, is no …", "heed, forsake in code", "whoever, somebody, nobody, everybody in texts",
              "cannot be had, the way, stand between, rules of trust"}
PAGES = {"Docs", "README.md", "CONTRIBUTING.md"}
# What a page quotes: blocks of code, code, and what stands in quotation marks.
# Links to two members of one name, one beside the other: the site shows the name alone, so that they read the same.
TWINS = re.compile(r"``(?:\w+/)+([^`/]+)``(?:,| and| or|, and)\s+``(?:\w+/)+\1``")
QUOTED = re.compile(r'`[^`]*`|"[^"]*"')
ACTORLESS = re.compile(r"\b(?:whoever|somebody|nobody|everybody)\b", re.IGNORECASE)
TRANSLATED = re.compile(r"cannot be had|\b(?:of|for|to|on) the way\b|stand between|rules of trust")
BANNED = {
    "heeds, forsake": lambda code, comment: re.search(r"\b(?:heeds|forsake)\b", comment, re.IGNORECASE),
    "whoever, somebody, nobody": lambda code, comment: re.search(r"\b(?:whoever|somebody|nobody)\b", comment, re.IGNORECASE),
    "heed, forsake in code": lambda code, comment: re.search(
        r"\b(?:heed(?:s|ed|ing)?|forsak(?:e|es|en|ing))\b", code + comment, re.IGNORECASE),
    "whoever, somebody, nobody, everybody in texts": lambda code, comment: any(
        ACTORLESS.search(text) for text in LITERAL.findall(code)),
    "cannot be had, the way, stand between, rules of trust": lambda code, comment: any(
        TRANSLATED.search(text) for text in LITERAL.findall(code)),
    "a comment line over 120 columns": lambda code, comment: not code.strip() and len(code) + len(comment) + 2 > 120,
    "is none, is no …": lambda code, comment: any(
        re.search(r" is none\b| is no [a-z]+", text) for text in LITERAL.findall(code)),
}
# Folders of Tests that no room is named after: what they have goes through many rooms. CONTRIBUTING.md explains them.
KINDS_OF_TESTS = {"Conformance", "Errors", "Faults", "Peers", "Simulation"}
# Rooms without a folder of tests, with what tests them instead.
TESTED_ELSEWHERE = {
    "LastroHTTP/Dialing": "every tunnel's handshake, in LastroTunnelsTests",
    "LastroStreamsTesting/Obfuscation": "both servers that are made of it, in Obfs4 and Shadowsocks",
    "LastroWire/Addresses": "what reads hosts and asks for their class: LastroTests/Host and LastroResilienceTests/Egress",
    "LastroWire/PublicSuffix": "the list that it reads for, in LastroTests/Host",
}
# Lines of a body: of a function, an initializer, or what computes a value.
BODY_LIMIT = 40
BODY = re.compile(r"( *)(?:@\S+ )*(?:[a-z]+(?:\([a-z]+\))? )*(?:func|init|deinit|subscript|var|get|set|_modify|_read|didSet|willSet)\b")
# What goes on with a signature at its own indentation.
SIGNATURE_GOES_ON = (")", "]", "{", "->", "throws", "async", "where")
LIMIT = {"Sources": 600, "Tests": 600, "Playgrounds": 600, "Benchmarks": 600}


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
    counts = dict.fromkeys(BANNED, 0)
    for path in tracked():
        if path.parts[0] == "Sources" and path.suffix in {".swift", ".c", ".h"}:
            for line in path.read_text(encoding="utf-8").splitlines():
                for name in words_of(line, BANNED):
                    counts[name] += 1
    print("\n".join(f"{count:5} {name}" for name, count in counts.items()))
    return 0


def word_findings(lines, has_texts):
    rules = {name: rule for name, rule in BANNED.items() if has_texts or name not in OF_TEXTS}
    for number, line in enumerate(lines, 1):
        if words := words_of(line, rules):
            yield number, f"what Docs/Names.md bans: {', '.join(words)}"


def wide_comments(lines):
    """Of scripts, whose comments begin with a #."""
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#") and len(line) > 120:
            yield number, "what Docs/Names.md bans: a comment line over 120 columns"


def actorless_pages():
    """Words of pages that Docs/Names.md bans, which names them itself."""
    for path in tracked():
        if path.suffix != ".md" or path.parts[0] not in PAGES or path.name == "Names.md":
            continue
        is_code = False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            is_code ^= line.lstrip().startswith("```")
            if not is_code and (found := ACTORLESS.search(QUOTED.sub("", line))):
                print(f"{path}:{number}: what Docs/Names.md bans: {found[0]}")
                yield path


def twin_links():
    """Links of pages and doc comments that the site shows alike. One written as `[Type.name](doc:Type/name)` shows its type."""
    for path in tracked():
        if path.suffix not in {".md", ".swift"} or path.parts[0] not in {"Docs", "Sources"}:
            continue
        text = path.read_text(encoding="utf-8")
        for found in TWINS.finditer(re.sub(r"\n *///", lambda line: "\n" + " " * (len(line[0]) - 1), text)):
            print(f"{path}:{text.count(chr(10), 0, found.start()) + 1}: two links that the site shows as {found[1]}")
            yield path


def outside_parentheses(text):
    """What stands outside of parentheses, up to the body."""
    depth, found = 0, ""
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth == 0:
            if character == "{":
                break
            found += character
    return found


def undocumented_throws(lines):
    """Public functions that throw and whose documentation has no `- Throws:`.

    Not needed where there is nothing to tell: `encode(to:)`, errors of a closure that are passed on (`throws(Failure)`), and
    default implementations ("The default …"), whose requirement tells it.
    """
    of_protocol = False
    for index, line in enumerate(lines):
        of_protocol = bool(PUBLIC_PROTOCOL.match(line)) or of_protocol and not line.startswith("}")
        if not (PUBLIC_FUNCTION.match(line) or of_protocol and REQUIREMENT.match(line)):
            continue
        end = index
        while end + 1 < len(lines) and "".join(lines[index:end + 1]).count("(") > "".join(lines[index:end + 1]).count(")"):
            end += 1
        signature = " ".join(lines[index:end + 1])
        above = index
        while above and lines[above - 1].strip().startswith(("///", "@")):
            above -= 1
        documentation = "\n".join(lines[above:index])
        exempt = "encode(to " in signature or "throws(Failure)" in signature or documentation.strip().startswith("/// The default")
        if re.search(r"\bthrows\b", outside_parentheses(signature)) and "- Throws:" not in documentation and not exempt:
            yield index + 1, "a public function that throws does not say what (`- Throws:`)"


def long_bodies(lines):
    """Functions that are too long. `swift format` puts the brace that ends a body under the start of its declaration."""
    for index, line in enumerate(lines):
        if not (found := BODY.match(line)):
            continue
        indentation, start = found[1], index
        while not lines[start].endswith("{") and start + 1 < len(lines) and (
                lines[start + 1].startswith((indentation + " ", *(indentation + sign for sign in SIGNATURE_GOES_ON)))):
            start += 1
        if not lines[start].endswith("{"):
            continue
        length = next((at for at, end in enumerate(lines[start + 1:]) if end.startswith(indentation + "}")), 0)
        if length > BODY_LIMIT:
            yield index + 1, f"a body of {length} lines, {BODY_LIMIT} are allowed: name its parts, as functions"


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
            if module == "FoundationNetworking" and any(path.parts[:len(user)] == user for user in FOUNDATIONNETWORKING_USERS):
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


def test_folders():
    """Yields files in folders of tests that are not named as a room of the target they test."""
    for path in tracked():
        if path.parts[0] != "Tests" or path.suffix != ".swift" or path.parts[1] == "Consumer":
            continue
        if not path.parts[1].endswith("Tests") or len(path.parts) == 3:
            continue
        source = pathlib.Path("Sources", path.parts[1].removesuffix("Tests"))
        if len(path.parts) > 4 or path.parts[2] not in KINDS_OF_TESTS and not (source / path.parts[2]).is_dir():
            print(f"{path}: {'/'.join(path.parts[2:-1])} is not a room of {source}, nor one of {', '.join(sorted(KINDS_OF_TESTS))}")
            yield path


def untested_rooms():
    """Rooms without a folder of tests that TESTED_ELSEWHERE does not have, and what it has beyond them."""
    files = [path.parts for path in tracked() if path.suffix == ".swift"]
    rooms = {parts[1:3] for parts in files if parts[0] == "Sources" and len(parts) > 3}
    tested = {(parts[1].removesuffix("Tests"), parts[2]) for parts in files if parts[0] == "Tests" and len(parts) > 3}
    missing = {"/".join(room) for room in rooms - tested}
    for room in sorted(missing - TESTED_ELSEWHERE.keys()):
        target, name = room.split("/")
        print(f"Sources/{room} has no folder Tests/{target}Tests/{name}: test it there, or say in TESTED_ELSEWHERE what does")
        yield room
    for room in sorted(TESTED_ELSEWHERE.keys() - missing):
        print(f"TESTED_ELSEWHERE has {room}, which has a folder of tests or is not there: remove that")
        yield room


SUITE = re.compile(r"^@Suite(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?(?=\s)", re.MULTILINE)
UNTITLED = re.compile(r'@(Test|Suite)\b(?!\(\s*#*")')
LOOP = re.compile(r"\s*(?:while|repeat|for|func)\b")
LOOP_OF_A_LINE = re.compile(r"\b(?:while|repeat|for)\b[^{]*(?=\{[^{}]*Task\.yield)")


def endless_suites(path, lines):
    """Yields suites of tests that wait and have no limit: one that hangs has to say so in five minutes."""
    text = "\n".join(lines)
    if path.parts[0] != "Tests" or " async" not in text:
        return
    for match in SUITE.finditer(text):
        # What runs as long as it is asked for has five minutes beside that.
        if not re.search(r"\.timeLimit\(\.minutes\((?:SoakTime\.minutes \+ )?[1-5]\)\)", match[0]):
            yield text.count("\n", 0, match.start()) + 1, "a suite whose tests wait has .timeLimit(.minutes(5)), or less"


def untitled_tests(lines):
    """Yields tests and suites without a sentence for their name: it is what a report of a failure shows."""
    text = "\n".join(code_of(line) for line in lines)
    for match in UNTITLED.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, f"@{match[1]} has no sentence for its name"


def indentation_of(line):
    return len(line) - len(line.lstrip())


def loop_around(lines, index):
    """The head of the innermost loop around a line, up to its brace; empty where its function has none."""
    if found := LOOP_OF_A_LINE.search(lines[index]):
        return found[0]
    inner = index
    for start in range(index - 1, -1, -1):
        line = lines[start]
        # A brace on a line of its own belongs to the line that began at its indentation.
        is_outside = indentation_of(line) < indentation_of(lines[inner]) or lines[inner].strip() == "{" and (
            indentation_of(line) == indentation_of(lines[inner]))
        if not line.strip() or not is_outside:
            continue
        if LOOP.match(line):
            return " ".join(lines[start:index]).partition("{")[0]
        inner = start
    return ""


def spinning_loops(lines):
    """Yields `Task.yield` in loops that go on for as long as what they wait for does not come.

    A `while` whose condition awaits something, such as a piece to read, waits for that.
    """
    for index, line in enumerate(lines):
        if "Task.yield()" in code_of(line):
            head = loop_around(lines, index).split()
            if head and head[0] in ("while", "repeat") and "await" not in head:
                yield index + 1, "a loop that may never end: eventually { … } looks again and again, for a minute"


def main():
    of_all = (actorless_pages, twin_links, stale_skips, test_folders, untested_rooms)
    findings = sum(1 for rule in of_all for _ in rule())
    for path in tracked():
        if path.suffix not in {".swift", ".c", ".h", ".py", ".sh"} and path.name != "Makefile" and path.parts[0] != ".ci":
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [] if licence_line(path, lines) else [(1, "no SPDX line")]
        if path.suffix == ".swift":
            found += [*swift_findings(path, lines), *endless_suites(path, lines)]
        if path.parts[0] in CODE and path.suffix in {".swift", ".c", ".h"}:
            found += word_findings(lines, path.parts[0] in CODE_WITH_TEXTS)
        elif path.suffix not in {".swift", ".c", ".h"}:
            found += wide_comments(lines)
        if path.parts[0] == "Tests" and path.suffix == ".swift":
            found += [*untitled_tests(lines), *spinning_loops(lines)]
        if path.parts[0] == "Sources" and path.suffix == ".swift":
            found += [*undocumented_throws(lines), *long_bodies(lines)]
        for number, message in found:
            print(f"{path}:{number}: {message}")
        findings += len(found)
    return 1 if findings else 0


sys.exit(count_words() if sys.argv[1:] == ["words"] else main())
