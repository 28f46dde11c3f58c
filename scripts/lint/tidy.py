"""clang-tidy over src/ and tools/, as build/release compiles them. What passed is not looked at again until it, a header it
uses, its flags or .clang-tidy change."""

import hashlib
import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tree

BUILD = tree.ROOT / "build/release"
PASSED = tree.ROOT / "build/tidy"


def dependencies():
    """The files that each object was made from, as the build recorded them: object -> paths."""
    out = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], check=True, stdout=subprocess.PIPE, text=True).stdout
    result, current = {}, None
    for line in out.splitlines():
        if line and not line.startswith(" "):
            current = result.setdefault(line.split(": #deps")[0], [])
        elif line.strip():
            current.append(BUILD / line.strip())
    return result


def key(entry, used, contents):
    """A hash of all that the verdict on one compilation depends on; "" where the build has not recorded it."""
    if not used:
        return ""
    digest = hashlib.sha256((tree.ROOT / ".clang-tidy").read_bytes() + entry["command"].encode())
    for path in used:
        if path not in contents:
            contents[path] = hashlib.sha256(path.read_bytes()).digest() if path.exists() else b""
        digest.update(contents[path])
    return digest.hexdigest()


def tidy(entry):
    run = subprocess.run(["clang-tidy", "--quiet", "--extra-arg=-Wno-unknown-warning-option", "-p", BUILD, entry["file"]],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.returncode, run.stdout


def check(files):
    if not (BUILD / "compile_commands.json").exists():
        return ["clang-tidy needs build/release; run ./dev build first"]
    known = {str(tree.ROOT / p) for p in files if p.parts[0] in ("src", "tools") and p.suffix in (".cpp", ".c")}
    used, contents, todo = dependencies(), {}, {}
    PASSED.mkdir(parents=True, exist_ok=True)
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        file = str((Path(entry["directory"]) / entry["file"]).resolve())
        if file not in known:
            continue
        words = shlex.split(entry["command"])
        name = key(entry, used.get(words[words.index("-o") + 1]), contents)
        if not name or not (PASSED / name).exists():
            todo[file] = (entry, name)
    print(f"clang-tidy: {len(todo)} of {len(known)} files")
    problems = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (status, out), (entry, name) in zip(pool.map(lambda job: tidy(job[0]), todo.values()), todo.values()):
            if status == 0:
                if name:
                    (PASSED / name).touch()
                continue
            findings = [line for line in out.splitlines() if ": error: " in line or ": warning: " in line]
            problems += findings or [f"{entry['file']}: clang-tidy failed: {out.strip()[-500:]}"]
    return sorted(set(problems))
