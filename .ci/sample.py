# SPDX-License-Identifier: Apache-2.0
"""Prints the fenced block that follows `<!-- sample: NAME -->` in a Markdown file: `sample.py FILE NAME`."""
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(rf"<!-- sample: {re.escape(sys.argv[2])} -->\n```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
if len(blocks) != 1:
    sys.exit(f"{sys.argv[1]} has {len(blocks)} samples named {sys.argv[2]}")
print(blocks[0], end="")
