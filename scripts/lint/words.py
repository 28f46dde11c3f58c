"""Words that must not be in the tree: notes to do something later, and paths of one machine."""

import re

import tree

# Written in pieces, so that this file passes.
FORBIDDEN = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b|(?<![\w.])/(wor" r"k|tmp/tac" r"et|ro" r"ot|ho" r"me/\w+)/")


def check(files):
    problems = []
    for path in files:
        content = tree.text(path)
        if content is None:
            continue
        for number, line in enumerate(content.splitlines(), 1):
            match = FORBIDDEN.search(line)
            if match:
                problems.append(f"{path}:{number}: '{match.group()}' must not be in the tree")
    return problems
