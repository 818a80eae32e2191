# SPDX-License-Identifier: Apache-2.0
"""Looks whether the golden files of error texts have every text in Sources.

A text is a string literal with two words in it. Its fixed words have to stand in one of GOLDEN, which tests write from errors
that they made (`LASTRO_RENEW=1`), or `.ci/error_texts.txt` has to say why they do not: a file whose texts are no errors'
(`PATH: REASON`), or a text that no test can make (`PATH "WORDS": REASON`). A row that nothing needs fails, too.
"""
import fnmatch
import pathlib
import re
import sys

GOLDEN = [pathlib.Path("Tests/LastroCurlTransportsTests/Errors/ErrorTexts.txt"),
          pathlib.Path("Tests/LastroCommandTests/Errors/CommandErrorTexts.txt"),
          pathlib.Path("Tests/LastroCommandTests/Errors/FlagWords.txt"),
          pathlib.Path("Tests/LastroHTTP2Tests/Endings/HTTP2ErrorTexts.txt"),
          pathlib.Path("Tests/LastroResilienceTests/Errors/ResilienceErrorTexts.txt"),
          pathlib.Path("Tests/LastroNamesTests/Errors/NameErrorTexts.txt"),
          pathlib.Path("Tests/LastroCookiesTests/Errors/CookieErrorTexts.txt"),
          pathlib.Path("Tests/LastroMultipartTests/Errors/MultipartErrorTexts.txt"),
          pathlib.Path("Tests/LastroPagesTests/Errors/PagesErrorTexts.txt"),
          pathlib.Path("Tests/LastroEventsTests/Errors/EventErrorTexts.txt"),
          pathlib.Path("Tests/LastroSQLiteCacheTests/Errors/CacheErrorTexts.txt"),
          pathlib.Path("Tests/LastroFilesTests/Errors/FileErrorTexts.txt")]
ALLOWED = pathlib.Path(".ci/error_texts.txt")
ROW = re.compile(r'^(\S+)(?: "(.*)")?: (.+)$')
# Help of the command line, names of tests, log messages and the like.
NO_ERROR = re.compile(r'(?:\b(?:help|abstract|discussion|usage|name|label|valueName):|\blogger\??\.\w+\(|ArgumentHelp\()\s*$')
WORDS = re.compile(r"[A-Za-z)\"']+[,;:]? [a-z]")


def string_end(text, start):
    """The end of the literal that begins at `start`."""
    quotes = '"""' if text.startswith('"""', start) else '"'
    at = start + len(quotes)
    while not text.startswith(quotes, at):
        if text.startswith("\\(", at):
            at = paren_end(text, at + 1)
        else:
            at += 2 if text[at] == "\\" else 1
    return at + len(quotes)


def paren_end(text, at):
    depth = 0
    while True:
        if text[at] == '"':
            at = string_end(text, at)
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return at


def literals(text):
    """Position and source of each literal, those within interpolations too; comments are skipped."""
    at = 0
    while at < len(text):
        if text.startswith("//", at):
            at = (text.find("\n", at) + 1) or len(text)
        elif text.startswith('#"', at):
            at = text.find('"#', at + 2) + 2
        elif text[at] == '"':
            end = string_end(text, at)
            yield at, text[at:end]
            for inner in re.finditer(r"\\\(", text[at:end]):
                start = at + inner.end() - 1
                for place, literal in literals(text[start:paren_end(text, start)]):
                    yield start + place, literal
            at = end
        else:
            at += 1


def fragments(literal):
    """The fixed parts of a literal."""
    parts, at, part = [], 1, ""
    while at < len(literal) - 1:
        if literal.startswith("\\(", at):
            parts.append(part)
            part = ""
            at = paren_end(literal, at + 1)
        elif literal[at] == "\\":
            part += {"n": "\\n", "t": "\t"}.get(literal[at + 1], literal[at + 1])
            at += 2
        else:
            part += literal[at]
            at += 1
    return [part for part in parts + [part] if WORDS.search(part)]


def rows():
    for number, line in enumerate(ALLOWED.read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            match = ROW.match(line)
            if match is None:
                sys.exit(f"{ALLOWED}:{number}: write PATH: REASON, or PATH \"WORDS\": REASON")
            yield number, *match.groups()


def main():
    golden = "\n".join(path.read_text(encoding="utf-8") for path in GOLDEN)
    table = list(rows())
    used = set()
    missing = 0
    for path in sorted(pathlib.Path("Sources").rglob("*.swift")):
        name = path.as_posix().removeprefix("Sources/")
        ours = [row for row in table if fnmatch.fnmatch(name, row[1])]
        if whole := [row[0] for row in ours if row[2] is None]:
            used.update(whole)
            continue
        text = path.read_text(encoding="utf-8")
        for at, literal in literals(text):
            if literal.startswith('"""') or NO_ERROR.search(text[:at]):
                continue
            for part in fragments(literal):
                if part.strip() in golden:
                    continue
                if found := [row[0] for row in ours if row[2] in part]:
                    used.update(found)
                    continue
                missing += 1
                line = text.count("\n", 0, at) + 1
                print(f"{path}:{line}: no golden file has the words {part!r}: have a test make the error, or say in {ALLOWED} why not")
    stale = [row for row in table if row[0] not in used]
    for row in stale:
        print(f"{ALLOWED}:{row[0]}: nothing needs this row")
    return 1 if missing or stale else 0


if __name__ == "__main__":
    sys.exit(main())
