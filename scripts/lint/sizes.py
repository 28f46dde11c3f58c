"""A file has one subject: none over 1000 lines, and those over 300 are named."""

import tree

LIMIT, LONG = 1000, 300


def check(files):
    problems = []
    for path in files:
        if not tree.is_code(path):
            continue
        lines = (tree.text(path) or "").count("\n")
        if lines > LIMIT:
            problems.append(f"{path}: {lines} lines; split it, {LIMIT} is the limit")
        elif lines > LONG:
            print(f"info: {path} has {lines} lines")
    return problems
