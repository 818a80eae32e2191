# SPDX-License-Identifier: Apache-2.0
"""Keeps the samples of README and the guides equal to code that is run. `samples.py update` copies the code.

A block of a guide below `<!-- sample: NAME -->` equals the lines from `// sample: NAME` to `// end` in Pages/GUIDE.swift or
Pages/GUIDE/; `<!-- imports -->` are lines of the same file. README's example and manifest are those of Tests/Consumer, and a test
in CONTRIBUTING.md is one that is run. `.ci/outside` builds `<!-- file: PATH -->`, and the page checks `<!-- prints: NAME -->`.
`.ci/firsthour` or `.ci/installed` enters `<!-- run: NAME -->`, and not `<!-- not run: REASON -->`.
"""
import re
import sys
import textwrap

import guides
from tree import files, read, version

PAGES = "Playgrounds/Sources/Pages/"
MANIFEST = "Tests/Consumer/Package.swift"
DOCTOR = "Sources/Tools/LastroCommand/Doctor/Checkup+Headers.swift"
REGION = re.compile(r"^[ \t]*// sample: ([^\n]+)\n(.*?)^[ \t]*// end$", re.DOTALL | re.MULTILINE)

problems = []
code_of = {("README", "readme"): read("Tests/Consumer/Sources/ReadmeExample/main.swift")}
page_of = {}
for path in files(f"{PAGES}*.swift"):
    guide, text = path.parts[3].removesuffix(".swift"), read(path)
    page_of[guide] = page_of.get(guide, "") + text
    for name, code in REGION.findall(text):
        if (guide, name) in code_of:
            problems.append(f"{path}: {guide} has two samples named {name}")
        code_of[guide, name] = textwrap.dedent(code)
RUNNERS = read(".ci/firsthour") + read(".ci/installed")


def problems_of_block(page, kind, name, language, text):
    """Checks a block that is no sample."""
    first = text.split("\n")[0]
    if language == "swift" and kind not in ("file", "imports") and page.name != "README.md":
        yield f"a block without `<!-- sample: NAME -->`: {first}"
    if language == "sh" and kind not in ("run", "not run"):
        yield f"a block without `<!-- run: NAME -->` or `<!-- not run: REASON -->`: {first}"
    # The first guide is followed as a whole.
    if kind == "run" and f'"{name}"' not in RUNNERS and str(page) != guides.FIRST:
        yield f"nothing runs the commands {name}: .ci/firsthour and .ci/installed do"
    if kind == "prints" and not text.strip():
        yield f"nothing is below <!-- prints: {name} -->"
    if kind == "imports":
        known = {line.strip() for line in page_of.get(page.stem, "").splitlines()}
        yield from (f"its page has no line `{line}`" for line in text.splitlines() if line not in known)


def problems_of_tests():
    tests = [*map(read, files("Tests/*Tests.swift"))]
    for _, _, language, code in guides.blocks("CONTRIBUTING.md"):
        if language == "swift" and not any(textwrap.indent(code, "  ") in test for test in tests):
            yield f"CONTRIBUTING.md: in no test: {code.splitlines()[0]}"


def problems_of_packages():
    """Finds places that name other packages than README, whose line `.ci/setup` installs."""
    wanted = guides.block("README.md", "run", "packages").strip()
    named = re.findall(r'^    \("([a-z0-9.+-]+)", ', read(DOCTOR), re.MULTILINE)
    if not guides.block(guides.FIRST, "run", "packages").strip().endswith(wanted) or sorted(named) != sorted(wanted.split()[3:]):
        yield f"{guides.FIRST} or {DOCTOR} names other packages than README: {wanted}"


def problems_of_manifests():
    line = f'.package(url: "../lastro", from: "{version()}", traits: [])'
    built = read(MANIFEST).replace('.package(name: "Lastro", path: "../..", traits: [])', line)
    built = re.sub("\n *//.*", "", built.replace('"Consumer"', '"hello"').replace("ReadmeExample", "Hello"))
    if built not in [re.sub("\n *//.*", "", text) for *_, text in guides.blocks("README.md")]:
        yield f"README.md: no manifest is that of {MANIFEST}"
    yield from (f"{page}: it does not depend on {version()}" for page in (guides.FIRST, "Docs/Lastro.docc/Lastro.md")
                if line not in read(page))


updating = sys.argv[1:] == ["update"]
unshown = set(code_of)
for page in files("README.md", ":(glob)Docs/*.docc/*.md"):
    text = read(page)
    for kind, name, language, shown in guides.blocks(page):
        sample = page.stem, name
        if kind != "sample":
            problems += [f"{page}: {problem}" for problem in problems_of_block(page, kind, name, language, shown)]
            continue
        unshown.discard(sample)
        code = code_of.get(sample)
        if page.stem == "Recipes" and shown.count("\n") > 10:
            problems.append(f"{page}: the recipe {name} has more than ten lines")
        if code is None:
            problems.append(f"{page}: no page has the sample {name} of {page.stem}")
        elif updating:
            above = f"<!-- sample: {name} -->\n```swift\n"
            text = text.replace(f"{above}{shown}```", f"{above}{code}```")
        elif code != shown:
            problems.append(f"{page}: the sample {name} is not what is run: .ci/samples.py update copies that")
    if updating:
        page.write_text(text, "utf-8")
problems += [f"{PAGES}: the sample {name} of {guide} is in no guide" for guide, name in sorted(unshown)]
sys.exit("\n".join([*problems, *problems_of_tests(), *problems_of_packages(), *problems_of_manifests()]) or 0)
