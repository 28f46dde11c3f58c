#!/usr/bin/env python3
"""run.py [--quick] [--fix] [CHECK...]: checks the sources; --quick leaves clang-tidy out, --fix repairs the format."""

import os
import sys

import form
import includes
import listed
import mutants
import sizes
import syntax
import tidy
import tree
import words

CHECKS = {
    "includes": includes.check,
    "listed": listed.check,
    "mutants": mutants.check,
    "sizes": sizes.check,
    "words": words.check,
    "syntax": syntax.check,
    "format": form.check,
    "tidy": tidy.check,
}


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    for name in names:
        if name not in CHECKS:
            print(f"lint: there is no check '{name}', only {', '.join(CHECKS)}.")
            return 2
    names = names or [n for n in CHECKS if not (n == "tidy" and "--quick" in options)]
    os.chdir(tree.ROOT)
    files = tree.files()
    if "--fix" in options:
        form.fix(files)
    failed = 0
    for name in names:
        problems = CHECKS[name](files)
        for problem in problems:
            print(problem)
        print(f"lint {name}: {'ok' if not problems else f'{len(problems)} problems'}", flush=True)
        failed += bool(problems)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
