# SPDX-License-Identifier: Apache-2.0
"""Keeps the tables of Docs/Parity.md and Docs/Seeds.md true, and a page for each error code.

A row `| EP01 | … | `FILE` |` of Parity.md names a file under Tests with a test that has the trait `.parity("EP01")`, or gives a
reason; every identifier of such a trait has its row. A row of Seeds.md ends with suites, and with guides that have samples. A code in Sources
has a page in Docs/Lastro.docc/Codes, whose title is the code with each of its stages, and which ErrorCodes.md lists.
A `STAGE/CODE` that any page names has such a code.
"""
import pathlib
import re
import sys

TRAIT = re.compile(r"\.parity\(([^)]*)\)")
SUITE = re.compile(r'@Suite\(\s*"((?:[^"\\]|\\.)*)"')
CODE = re.compile(r'(?:static let \w+ = Self|FailureCode)\("(\w+)"\)')
ROW = re.compile(r"^\| ([A-Z]{2}\d\d) \| .+ \| (.+?) \|$", re.MULTILINE)

STAGES = "request|resolve|connect|proxy|tls|trust|send|response|http|decode|limit|timeout|redirect|policy|cancelled"
NAMED = re.compile(rf"`(?:{STAGES})/([a-z0-9_]+)`")


def parity(page, tested):
    rows = ROW.findall(page)
    listed = [identifier for identifier, _ in rows]
    yield from (f"{identifier} has several rows" for identifier in set(listed) if listed.count(identifier) > 1)
    yield from (f"{identifier} is tested and has no row" for identifier in tested.keys() - set(listed))
    for identifier, place in rows:
        if file := re.fullmatch("`(.+)`", place):
            if file[1] not in tested.get(identifier, set()):
                yield f"{identifier}: no test of {file[1]} has it in .parity"
        elif not re.match("(no counterpart|superseded): ", place):
            yield f"{identifier}: neither a file nor a reason: {place}"


def seeds(page, suites, guides):
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if len(row) == 4 and row[2] != "test"]
    if len(rows) < 40:
        yield f"only {len(rows)} rows were read: is the form of the tables another?"
    for row in rows:
        yield from (f"no suite is named {name}" for name in row[2].split("; ") if name not in suites | {"none"})
        yield from (f"there is no guide {name}" for name in row[3].split(", ") if name not in guides | {"none"})


def codes(pages):
    sources = [path.read_text(encoding="utf-8") for path in pathlib.Path("Sources").rglob("*.swift")]
    thrown = {code for text in sources if "FailureCode" in text for code in CODE.findall(text)}
    index = pages.pop("ErrorCodes")
    yield from (f"{code} is a code without a page, or a page without a code" for code in thrown ^ pages.keys())
    for path in pathlib.Path("Docs").rglob("*.md"):
        yield from (f"{path} names {code}" for code in NAMED.findall(path.read_text("utf-8")) if code not in thrown)
    for code, page in pages.items():
        if not re.match(rf"# [a-z]+/{code}(, [a-z]+/{code})*\n", page) or f"- <doc:{code}>\n" not in index:
            yield f"{code}: its title is not STAGE/{code}, or ErrorCodes.md does not list it"


def main():
    tested, suites = {}, set()
    for path in [path for path in pathlib.Path("Tests").rglob("*.swift") if ".build" not in path.parts]:
        text = path.read_text("utf-8")
        suites.update(SUITE.findall(text))
        for identifier in re.findall(r'"(\w+)"', " ".join(TRAIT.findall(text))):
            tested.setdefault(identifier, set()).add(str(path.relative_to("Tests")))
    guides = {path.stem for path in pathlib.Path("Docs").glob("*.docc/*.md")}
    pages = [pathlib.Path("Docs", name) for name in ("Parity.md", "Seeds.md")]
    texts = [page.read_text("utf-8") for page in pages]
    problems = [f"{pages[0]}: {problem}" for problem in parity(texts[0], tested)]
    problems += [f"{pages[1]}: {problem}" for problem in seeds(texts[1], suites, guides)]
    folder = pathlib.Path("Docs/Lastro.docc/Codes")
    errors = {path.stem: path.read_text("utf-8") for path in folder.glob("*.md")}
    problems += [f"{folder}: {problem}" for problem in codes(errors)]
    return "\n".join(problems) or 0


sys.exit(main())
