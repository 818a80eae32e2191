# SPDX-License-Identifier: Apache-2.0
"""Checks that the things which Markdown pages name exist.

Relative links lead to files and headings. A row `| EP01 | … | `FILE` |` of Docs/Parity.md names a file of Tests with the trait
`.parity("EP01")`, or gives a reason; every such trait has its row. A row of Docs/Seeds.md ends with suites and guides. A code in
Sources has a page in Codes, whose title is the code with each of its stages, and which ErrorCodes.md lists. A `STAGE/CODE` on any
page of Docs has such a code.
"""
import collections
import pathlib
import re
import sys

from tree import files, read

FENCED = re.compile(r"```.*?```", re.DOTALL)
PARITY, SEEDS, CODES = (pathlib.Path("Docs", name) for name in ("Parity.md", "Seeds.md", "Lastro.docc/Codes"))


def anchors(page):
    """The anchors that hosts make of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page, text):
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not re.match(r"[a-z]+:", link) and (
                not target.exists() or anchor and target.suffix == ".md" and anchor not in anchors(target)):
            yield f"nothing is at {link}"


def parity(page, tested):
    rows = re.findall(r"^\| ([A-Z]{2}\d\d) \| .+ \| (.+?) \|$", page, re.MULTILINE)
    counts = collections.Counter(identifier for identifier, _ in rows)
    yield from (f"{identifier} has several rows" for identifier, count in counts.items() if count > 1)
    yield from (f"{identifier} is tested and has no row" for identifier in tested.keys() - counts.keys())
    for identifier, place in rows:
        if not re.match("(no counterpart|superseded): ", place) and place.strip("`") not in tested[identifier]:
            yield f"{identifier}: neither a file with such a test, nor a reason: {place}"


def seeds(page, suites, guides):
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if len(row) == 4 and row[2] != "test"]
    if len(rows) < 40:
        yield f"only {len(rows)} rows were read"
    for row in rows:
        yield from (f"no suite is named {name}" for name in row[2].split("; ") if name not in suites | {"none"})
        yield from (f"there is no guide {name}" for name in row[3].split(", ") if name not in guides | {"none"})


def codes(pages):
    sources = [text for text in map(read, files("Sources/*.swift")) if "FailureCode" in text]
    thrown = {*re.findall(r'(?:static let \w+ = Self|FailureCode)\("(\w+)"\)', "\n".join(sources))}
    titles = {path.stem: pages[path].split("\n")[0] for path in pages if path.parent == CODES}
    titles.pop("ErrorCodes")
    yield from (f"{code} is a code without a page, or a page without a code" for code in thrown ^ titles.keys())
    for code, title in titles.items():
        if not re.fullmatch(rf"# [a-z]+/{code}(, [a-z]+/{code})*", title) or \
                f"- <doc:{code}>\n" not in pages[CODES / "ErrorCodes.md"]:
            yield f"{code}: its title is not STAGE/{code}, or ErrorCodes.md does not list it"
    stages = "|".join({stage for title in titles.values() for stage in re.findall("([a-z]+)/", title)})
    for page in files("Docs/*.md"):
        named = {*re.findall(rf"`(?:{stages})/([a-z0-9_]+)`", read(page))}
        yield from (f"{page} names {code}" for code in sorted(named - thrown))


# The data of public suites has pages of its own.
pages = {path: FENCED.sub("", read(path)) for path in files("*.md", ":!Tests/Conformance")}
tested, suites = collections.defaultdict(set), set()
for path in files("Tests/*.swift"):
    text = read(path)
    suites.update(re.findall(r'@Suite\(\s*"((?:[^"\\]|\\.)*)"', text))
    for identifier in re.findall(r'"(\w+)"', " ".join(re.findall(r"\.parity\(([^)]*)\)", text))):
        tested[identifier].add(str(path.relative_to("Tests")))
guides = {path.stem for path in pages if path.parent.suffix == ".docc"}
found = {page: links(page, pages[page]) for page in pages}
found |= {"parity": parity(pages[PARITY], tested), "seeds": seeds(pages[SEEDS], suites, guides), "codes": codes(pages)}
sys.exit("\n".join(f"{page}: {problem}" for page, problems in found.items() for problem in problems) or 0)
