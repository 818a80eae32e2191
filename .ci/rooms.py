# SPDX-License-Identifier: Apache-2.0
"""Holds the table of which room of a target may use which.

A room is a folder directly below Sources/TARGET; what lies beside the folders is the room `.`. A room uses another one where
its code names a type that only the other one declares, outside of comments and strings. `.ci/rooms.txt` has the edges, a
line `TARGET: ROOM -> ROOM …` for each room that uses any, and is changed by hand only. An edge that is not in the table
fails, and so does a row of the table that no code needs. `rooms.py print` shows the table that the code would need.
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


def code_of(text):
    """The text without comments, and without strings but for what is interpolated; line numbers stay."""
    def kept(match):
        found = match[0]
        inner = "" if found.startswith(("//", "/*")) else " ".join(INTERPOLATION.findall(found))
        return inner.replace("\n", " ") + "\n" * found.count("\n")

    return IGNORED.sub(kept, text)


def declared(code):
    """The types that a file declares at its top level."""
    depth, start = 0, 0
    for brace in re.finditer(r"[{}]", code):
        if depth == 0:
            yield from DECLARATION.findall(code[start:brace.start()])
        depth += 1 if brace[0] == "{" else -1
        start = brace.end()
    if depth == 0:
        yield from DECLARATION.findall(code[start:])


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
    home = {name: next(iter(found)) for name, found in homes.items() if len(found) == 1}
    found = {}
    for room, files in rooms.items():
        for path, code in files.items():
            for match in NAME.finditer(code):
                other = home.get(match[0], room)
                if other != room and (target.name, room, other) not in found:
                    line = code.count("\n", 0, match.start()) + 1
                    found[(target.name, room, other)] = f"{path}:{line} names {match[0]}"
    return found


def table():
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if row := ROW.fullmatch(line):
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
