"""Every patch of tests/mutants applies to the sources."""

import subprocess

import tree

FOLDER = "tests/mutants"


def check(files):
    problems = []
    for path in files:
        if str(path.parent) != FOLDER or path.suffix != ".patch":
            continue
        result = subprocess.run(["git", "apply", "--check", path], cwd=tree.ROOT, capture_output=True, text=True)
        if result.returncode != 0:
            reason = result.stderr.strip().splitlines()[0].removeprefix("error: ")
            problems.append(f"{path}: {reason}; adapt the patch to the sources")
    return problems
