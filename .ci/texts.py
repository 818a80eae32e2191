# SPDX-License-Identifier: Apache-2.0
"""Checks the form of error texts in `Sources`: one line without a full stop, which begins in lower case and has a hint."""
import re
import sys

import tree

LITERAL = r'"(?:\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\\.|[^"\\\n])*"'
PART = rf'{LITERAL}|[^"()]'
# What errors are made with, and what their types have. ArgumentParser's ValidationError prints sentences.
GIVEN = re.compile(rf"(?:\b(?!Validation)\w*(?:Error|Failure|Violation)\(\s*|\b(?:message|hint|reason): )({LITERAL})")
TYPE = re.compile(r"^( *).*\b(?:struct|enum|extension) [\w.]*(?:Error|Failure|Violation|Problem)\b.*\{\n(?s:.*?)^\1\}", re.M)
BARE = re.compile(rf"\b(?:Transport|Configuration)Error\((?:(?!hint:)(?:{PART}|\((?:{PART}|\((?:{PART})*\))*\)))*\)")
# Names are in upper case, and so are two texts of Foundation.
FORM = re.compile(r'"(?!\w*[A-Z]\w*[A-Z]|Lastro|Gemini|Parsed JSON|The given data)[A-Z]\w* |.*\w.*\\n|.*[\w)]\."$')
# The caller adds a hint, or the cause has one, or there is none.
HINTLESS = re.compile(r'"(?:it has not four|its \w+ word|\\\(host\) is listed|the address is a URL|the port |.*\\\((?:error|self)\)"'
                      '|down|the other end is closed|remembering a host was cancelled)')
count, problems = 0, []
for path in tree.files("Sources/*.swift"):
    source = re.sub("^ *//.*", "", tree.read(path), flags=re.M)
    texts = {text.start(1): text[1] for text in GIVEN.finditer(source)}
    for body in TYPE.finditer(source):
        texts |= {body.start() + text.start(): text[0] for text in re.finditer(LITERAL, body[0])}
    count += len(texts)
    problems += [f"{path}: the form of {text}" for text in texts.values() if FORM.match(re.sub(r"\\\(.*\)", "", text))]
    for call in BARE.findall(source):
        message = re.search(rf"(?:^\w+\(\s*|message: )({LITERAL})", call)
        if message and not HINTLESS.match(message[1]):
            problems.append(f"{path}: no hint beside {message[1]}")
sys.exit("\n".join(problems) or count < 1000 and f"only {count} error texts were found")
