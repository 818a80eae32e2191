#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes one site of the documentation archives in .build/documentation: `.build/documentation/site`, which any server of files can
serve at its root. Its first page lists the guides and modules. A link to a page that is not there is an error."""
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys

OUTPUT = pathlib.Path(".build/documentation")
SITE = OUTPUT / "site"
PAGES = SITE / "data/documentation"
# Modules that others are made of and that have no catalog of their own.
INNER = {"LastroWire"}

STYLE = """
:root { color-scheme: light dark }
body { font: 17px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }
h1 { margin: 0 } h2 { margin: 2.5rem 0 .5rem; border-bottom: 1px solid #8886; padding-bottom: .25rem }
ul { list-style: none; padding: 0; display: grid; gap: .75rem 2rem; grid-template-columns: repeat(auto-fill, minmax(min(18rem, 100%), 1fr)) }
a { color: #06c; text-decoration: none } a:hover { text-decoration: underline } li a { font-weight: 600 }
@media (prefers-color-scheme: dark) { a { color: #6bf } }
"""


def page(url):
    return json.loads((SITE / f"data{url}.json").read_text(encoding="utf-8"))


def text_of(inline, references):
    return "".join(part.get("text") or part.get("code") or references.get(part.get("identifier"), {}).get("title")
                   or text_of(part.get("inlineContent", []), references) for part in inline)


def title_and_abstract(content):
    return content["metadata"]["title"], text_of(content.get("abstract", []), content.get("references", {}))


def guides(module):
    """The addresses of a module's articles, in the order of its topics."""
    for section in module.get("topicSections", []):
        for name in section["identifiers"]:
            reference = module["references"].get(name, {})
            if reference.get("role") == "article":
                yield reference["url"]


def entry(url):
    title, abstract = title_and_abstract(page(url))
    return f'<li><a href="{html.escape(url.lstrip("/"))}/">{html.escape(title)}</a><br>{html.escape(abstract)}</li>'


def write_first_page():
    urls = [f"/documentation/{path.stem}" for path in sorted(PAGES.glob("*.json"))]
    urls = [url for url in urls if page(url)["metadata"]["title"] not in INNER]
    # Lastro's own first, among which is where to begin.
    all_guides = [guide for url in urls for guide in guides(page(url))]
    parts = ["<h2>Guides</h2>", "<ul>", *map(entry, all_guides), "</ul>",
             "<h2>References</h2>", "<ul>", *map(entry, urls), "</ul>"]
    _, abstract = title_and_abstract(page("/documentation/lastro"))
    (SITE / "index.html").write_text("\n".join([
        "<!doctype html>", '<html lang="en">', '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">', "<title>Lastro</title>",
        '<link rel="icon" href="favicon.ico">', f"<style>{STYLE}</style>", "<h1>Lastro</h1>",
        f"<p>{html.escape(abstract)}</p>", *parts, "</html>", ""]), encoding="utf-8")
    # The pages ask for it.
    (SITE / "theme-settings.json").write_text("{}\n", encoding="utf-8")
    return len(all_guides), len(urls)


def contents(value):
    """Every object of a page's content."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from contents(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from contents(inner)


def dead_links():
    files = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*") if path.is_file()}
    for path in sorted(PAGES.rglob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        used = {part["identifier"] for part in contents([content.get("abstract", []), content.get("primaryContentSections", [])])
                if part.get("type") == "reference"}
        references = content.get("references", {})
        yield from (f"{path}: nothing is known of {name}" for name in sorted(used - references.keys()))
        for name, reference in references.items():
            # What a library of others declares is shown as text; a link of ours that is not resolved is an error of
            # docc's.
            if reference.get("type") not in ("topic", "section", "link") or not reference.get("url", "").startswith("/"):
                continue
            # Headings are docc's to check.
            url = reference["url"].partition("#")[0]
            if f"data{url}.json" not in files or f"{url.lstrip('/')}/index.html" not in files:
                yield f"{path}: {name} leads to {url}, where nothing is"
    for target in re.findall(r'href="([^":]+)"', (SITE / "index.html").read_text(encoding="utf-8")):
        if (target + "index.html" if target.endswith("/") else target) not in files:
            yield f"index.html: {target} leads nowhere"


def main():
    shutil.rmtree(SITE, ignore_errors=True)
    subprocess.run(["docc", "merge", *sorted(map(str, OUTPUT.glob("*.doccarchive"))), "--synthesized-landing-page-name", "Lastro",
                    "--synthesized-landing-page-topics-style", "compactGrid", "--output-path", str(SITE)], check=True)
    count, modules = write_first_page()
    problems = list(dead_links())
    print("\n".join(problems), end="\n" if problems else "")
    print(f"{count} guides and {modules} references: python3 -m http.server --directory {SITE}")
    return 1 if problems else 0


sys.exit(main())
