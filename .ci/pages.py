# SPDX-License-Identifier: Apache-2.0
"""Checks that the things which Markdown pages name exist.

Relative links lead to files and headings; docc checks those between guides. A row `| EP01 | … | `FILE` |` of Docs/Parity.md names
a file under Tests with a test that has the trait `.parity("EP01")`, or gives a reason; every identifier of such a trait has its
row. A row of Docs/Seeds.md ends with suites and guides. A code in Sources has a page in Docs/Lastro.docc/Codes, whose title is
the code with each of its stages, and which ErrorCodes.md lists. A `STAGE/CODE` on any page of Docs has such a code.
"""
import collections
import pathlib
import re
import subprocess
import sys

FENCED = re.compile(r"```.*?```", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
TRAIT = re.compile(r"\.parity\(([^)]*)\)")
SUITE = re.compile(r'@Suite\(\s*"((?:[^"\\]|\\.)*)"')
CODE = re.compile(r'(?:static let \w+ = Self|FailureCode)\("(\w+)"\)')
ROW = re.compile(r"^\| ([A-Z]{2}\d\d) \| .+ \| (.+?) \|$", re.MULTILINE)
PARITY, SEEDS, CODES = (pathlib.Path("Docs", name) for name in ("Parity.md", "Seeds.md", "Lastro.docc/Codes"))


def anchors(page):
    """The anchors that hosts make of a page's headings."""
    headings = HEADING.findall(FENCED.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page, text):
    for link in LINK.findall(text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not re.match(r"[a-z]+:", link) and (
                not target.exists() or anchor and target.suffix == ".md" and anchor not in anchors(target)):
            yield f"nothing is at {link}"


def parity(page, files):
    rows = ROW.findall(page)
    counts = collections.Counter(identifier for identifier, _ in rows)
    yield from (f"{identifier} has several rows" for identifier, count in counts.items() if count > 1)
    yield from (f"{identifier} is tested and has no row" for identifier in files.keys() - counts.keys())
    for identifier, place in rows:
        if not re.match("(no counterpart|superseded): ", place) and place.strip("`") not in files[identifier]:
            yield f"{identifier}: neither a file with a test that has it in .parity, nor a reason: {place}"


def seeds(page, suites, guides):
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in page.splitlines() if line.startswith("| ")]
    rows = [row for row in rows if len(row) == 4 and row[2] != "test"]
    if len(rows) < 40:
        yield f"only {len(rows)} rows were read: is the form of the tables another?"
    for row in rows:
        yield from (f"no suite is named {name}" for name in row[2].split("; ") if name not in suites | {"none"})
        yield from (f"there is no guide {name}" for name in row[3].split(", ") if name not in guides | {"none"})


def codes(pages):
    sources = [path.read_text("utf-8") for path in pathlib.Path("Sources").rglob("*.swift")]
    thrown = {code for text in sources if "FailureCode" in text for code in CODE.findall(text)}
    titles = {path.stem: pages[path].split("\n")[0] for path in pages if path.parent == CODES}
    titles.pop("ErrorCodes")
    yield from (f"{code} is a code without a page, or a page without a code" for code in thrown ^ titles.keys())
    for code, title in titles.items():
        if not re.fullmatch(rf"# [a-z]+/{code}(, [a-z]+/{code})*", title) or \
                f"- <doc:{code}>\n" not in pages[CODES / "ErrorCodes.md"]:
            yield f"{code}: its title is not STAGE/{code}, or ErrorCodes.md does not list it"
    stages = "|".join({stage for title in titles.values() for stage in re.findall("([a-z]+)/", title)})
    for page in pages:
        if page.parts[0] == "Docs":
            yield from (f"{page} names {code}" for code in re.findall(rf"`(?:{stages})/([a-z0-9_]+)`", page.read_text("utf-8"))
                        if code not in thrown)


def main():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    # The data of public suites has pages of its own.
    pages = {path: FENCED.sub("", path.read_text("utf-8")) for path in map(pathlib.Path, names)
             if path.is_file() and path.parts[:2] != ("Tests", "Conformance")}
    files, suites = collections.defaultdict(set), set()
    for path in [path for path in pathlib.Path("Tests").rglob("*.swift") if ".build" not in path.parts]:
        text = path.read_text("utf-8")
        suites.update(SUITE.findall(text))
        for identifier in re.findall(r'"(\w+)"', " ".join(TRAIT.findall(text))):
            files[identifier].add(str(path.relative_to("Tests")))
    guides = {path.stem for path in pages if path.parent.suffix == ".docc"}
    problems = [f"{page}: {problem}" for page in pages for problem in links(page, pages[page])]
    problems += [f"{PARITY}: {problem}" for problem in parity(pages[PARITY], files)]
    problems += [f"{SEEDS}: {problem}" for problem in seeds(pages[SEEDS], suites, guides)]
    problems += [f"{CODES}: {problem}" for problem in codes(pages)]
    return "\n".join(problems) or 0


sys.exit(main())
