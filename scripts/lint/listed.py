"""Every source is built: it stands in a CMakeLists.txt above it, or by its path from the root in cmake/."""

import re

import tree

FOLDERS = ("src", "tools", "tests", "bench")
SOURCES = {".cpp", ".c", ".cu", ".S"}


def tokens(path):
    lines = (line.split("#")[0] for line in (tree.text(path) or "").splitlines())
    return {t.removeprefix("${PROJECT_SOURCE_DIR}/").removeprefix("${CMAKE_CURRENT_SOURCE_DIR}/")
            for t in re.split(r'[\s()"]+', "\n".join(lines))}


def check(files):
    lists = {p.parent: tokens(p) for p in files if p.name == "CMakeLists.txt"}
    common = set().union(*(tokens(p) for p in files if p.suffix == ".cmake"), *lists.values())
    problems = []
    for path in files:
        if path.suffix not in SOURCES or path.parts[0] not in FOLDERS:
            continue
        if str(path) in common:
            continue
        if not any(str(path.relative_to(f)) in lists[f] for f in path.parents if f in lists):
            problems.append(f"{path}: no CMakeLists.txt lists it")
    return problems
