# SPDX-License-Identifier: Apache-2.0
"""Checks that relative links of Markdown files lead to files and headings that exist. Those between guides are docc's to check."""
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"```.*?```", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def text_of(page):
    return BLOCK.sub("", page.read_text("utf-8"))


def anchors(page):
    """The anchors that hosts make of a page's headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text_of(page))}


def dead_links(page):
    for link in LINK.findall(text_of(page)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not re.match(r"[a-z]+:", link) and (
                not target.exists() or anchor and target.suffix == ".md" and anchor not in anchors(target)):
            yield f"{page}: nothing is at {link}"


names = subprocess.run(["git", "ls-files", "-z", "*.md"], check=True, capture_output=True, text=True).stdout.split("\0")
# The data of public suites has pages of its own.
pages = [pathlib.Path(name) for name in names if name and not name.startswith("Tests/Conformance/")]
sys.exit("\n".join(line for page in pages if page.is_file() for line in dead_links(page)) or 0)
