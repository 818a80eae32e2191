# SPDX-License-Identifier: Apache-2.0
"""Holds the table of which room of a target may use which.

A room is a folder directly below Sources/TARGET; what lies beside the folders is the room `.`. A room uses another one where
its code names, outside of comments and strings, a type that only the other one declares, or what only the other one adds to
a type of another target. `.ci/rooms.txt` has the edges, one line `TARGET: ROOM -> ROOM …` for each room that uses any, and is
changed by hand only. An edge that is not in the table fails, and so does a row of the table that no code needs.
`rooms.py print` shows the table that the code would need.
"""
import collections
import pathlib
import re
import sys

TABLE = pathlib.Path(".ci/rooms.txt")
ROW = re.compile(r"(\w+): (\S+) -> (.+)")
# Comments, and strings without what is interpolated into them.
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|(#*)""".*?"""\1|(#+)".*?"\2|"(?:\\.|[^"\\\n])*"', re.DOTALL)
INTERPOLATION = re.compile(r"\\\(((?:[^()]|\([^()]*\))*)\)")
DECLARATION = re.compile(r"\b(?:struct|class|enum|protocol|actor|typealias)\s+([A-Z]\w*)")
# A member is named by its owner, whose room counts.
NAME = re.compile(r"(?<![.\w])[A-Z]\w*")
EXTENSION = re.compile(r"\bextension\s+(\w+)")
MEMBER = re.compile(r"\b(?:func|var|let|case)\s+(\w+)")
WORD = re.compile(r"\b[a-z]\w*\b(?!\s*:)")
# What others call something, too.
AMBIGUOUS = {"changedHost", "isASCII", "system"}


def code_of(text):
    """The text without comments, and without strings but for what is interpolated; line numbers stay."""
    def kept(match):
        found = match[0]
        inner = "" if found.startswith(("//", "/*")) else " ".join(INTERPOLATION.findall(found))
        return inner.replace("\n", " ") + "\n" * found.count("\n")

    return IGNORED.sub(kept, text)


def blocks(code):
    """What stands outside of all braces, piece by piece, each with the block that follows on it."""
    depth, start, opened = 0, 0, 0
    for brace in re.finditer(r"[{}]", code):
        if brace[0] == "{":
            if depth == 0:
                opened = brace.start()
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                yield code[start:opened], code[opened + 1:brace.start()]
                start = brace.end()
    yield code[start:], ""


def declared(code):
    """The types that a file declares at its top level."""
    for head, _ in blocks(code):
        yield from DECLARATION.findall(head)


def added(code, own):
    """What a file adds, for others to see, to types that its target does not have."""
    for head, block in blocks(code):
        extended = EXTENSION.search(head)
        if extended and extended[1] not in own:
            lines = "\n".join(head for head, _ in blocks(block)).splitlines()
            yield from (name for line in lines if "private " not in line for name in MEMBER.findall(line))


def added_homes(rooms, own):
    """The room of what only one file of a target adds to types of others, and that it calls nothing else."""
    members = collections.Counter(name for files in rooms.values() for code in files.values() for name in MEMBER.findall(code))
    return {
        name: room for room, files in rooms.items() for code in files.values() for name in added(code, own)
        if members[name] == 1 and name not in AMBIGUOUS}


def rooms_of(target):
    """The code of each file, by room."""
    rooms = collections.defaultdict(dict)
    for path in sorted(target.rglob("*.swift")):
        parts = path.relative_to(target).parts
        rooms[parts[0] if len(parts) > 1 else "."][path] = code_of(path.read_text(encoding="utf-8"))
    return rooms


def edges(target):
    """Each edge with the first place that needs it."""
    rooms = rooms_of(target)
    homes = collections.defaultdict(set)
    for room, files in rooms.items():
        for code in files.values():
            for name in declared(code):
                homes[name].add(room)
    home = added_homes(rooms, homes.keys()) | {name: next(iter(found)) for name, found in homes.items() if len(found) == 1}
    found = {}
    for room, files in rooms.items():
        for path, code in files.items():
            for match in (*NAME.finditer(code), *WORD.finditer(code)):
                other = home.get(match[0], room)
                if other != room and (target.name, room, other) not in found:
                    line = code.count("\n", 0, match.start()) + 1
                    found[(target.name, room, other)] = f"{path}:{line} names {match[0]}"
    return found


def table():
    rows = set()
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if row := ROW.fullmatch(line):
            if (row[1], row[2]) in rows:
                sys.exit(f"{TABLE}: {row[1]}'s room {row[2]} has two rows: make one of them")
            rows.add((row[1], row[2]))
            yield from ((row[1], row[2], other) for other in row[3].split())
        elif line and not line.startswith("#"):
            sys.exit(f"{TABLE}: a row is `TARGET: ROOM -> ROOM …`, not: {line}")


def main(words):
    found = {}
    for target in sorted(path for path in pathlib.Path("Sources").iterdir() if path.is_dir()):
        found |= edges(target)
    if words == ["print"]:
        used = collections.defaultdict(list)
        for target, room, other in sorted(found):
            used[(target, room)].append(other)
        print("\n".join(f"{target}: {room} -> {' '.join(others)}" for (target, room), others in used.items()))
        return 0
    allowed = set(table())
    for target, room, other in sorted(found.keys() - allowed):
        print(f"{found[(target, room, other)]}: {target}'s room {room} uses {other}, which {TABLE} does not allow")
    for target, room, other in sorted(allowed - found.keys()):
        print(f"{TABLE}: {target}'s room {room} does not use {other}: remove that")
    return 1 if found.keys() != allowed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
