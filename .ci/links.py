# SPDX-License-Identifier: Apache-2.0
"""Checks that links lead somewhere.

`links.py` checks relative links of Markdown files: to files and headings. `links.py SITE` checks the pages of a site that docc
made, whose links between modules docc does not check all.
"""
import json
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"```.*?```", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors(page):
    """The anchors that hosts make of a page's headings."""
    headings = HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_in_text(page):
    for link in LINK.findall(BLOCK.sub("", page.read_text(encoding="utf-8"))):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        # `doc:` and `https:` are for others to check.
        if not re.match(r"[a-z]+:", link) and (
                not target.exists() or anchor and target.suffix == ".md" and anchor not in anchors(target)):
            yield f"{page}: nothing is at {link}"


def objects(value):
    """Every object of a page's content."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from objects(inner)


def dead_in_site(site, page):
    content = json.loads(page.read_text(encoding="utf-8"))
    references = content.get("references", {})
    shown = [part["identifier"] for part in objects([content.get("abstract"), content.get("primaryContentSections")])
             if part.get("type") == "reference"]
    yield from (f"{page}: nothing is known of {name}" for name in shown if name not in references)
    for name, reference in references.items():
        url = reference.get("url", "").partition("#")[0]
        if reference.get("type") in ("topic", "section", "link") and url.startswith("/") and not (
                site / f"data{url}.json").is_file():
            yield f"{page}: {name} leads to {url}, where nothing is"


def main(words):
    if words:
        site = pathlib.Path(words[0])
        dead = [line for page in sorted(site.glob("data/**/*.json")) for line in dead_in_site(site, page)]
    else:
        names = subprocess.run(["git", "ls-files", "-z", "*.md"], check=True, capture_output=True, text=True).stdout.split("\0")
        # The data of public suites has pages of its own.
        pages = [pathlib.Path(name) for name in names if name and not name.startswith("Tests/Conformance/")]
        dead = [line for page in pages if page.is_file() for line in dead_in_text(page)]
    print("\n".join(dead), end="\n" if dead else "")
    return 1 if dead else 0


sys.exit(main(sys.argv[1:]))
