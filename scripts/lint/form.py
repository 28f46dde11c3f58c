"""clang-format agrees with every C and C++ file."""

import subprocess
from collections import Counter

import tree


def sources(files):
    return [str(p) for p in files if p.suffix in tree.CPP]


def check(files):
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", *sources(files)], stderr=subprocess.PIPE, text=True)
    places = Counter(line.split(":")[0] for line in run.stderr.splitlines() if ": error: " in line)
    problems = [f"{path}: {count} places; ./dev format repairs them" for path, count in places.items()]
    return problems or ([run.stderr.strip() or "clang-format failed"] if run.returncode else [])


def fix(files):
    subprocess.run(["clang-format", "-i", *sources(files)], check=True)
