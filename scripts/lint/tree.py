"""The files of the project."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CODE = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh", ".comp", ".S", ".py", ".sh", ".js", ".mjs", ".cmake"}
CPP = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh"}


def files():
    """Paths relative to ROOT of all files that git tracks or would take."""
    out = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    paths = sorted({Path(p) for p in out.decode().split("\0") if p})
    return [p for p in paths if (ROOT / p).is_file()]


def text(path):
    """The text of a file, or None for a binary one."""
    data = (ROOT / path).read_bytes()
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def interpreter(path):
    """The name of the interpreter in the first line: "bash", "python3", or "" without one."""
    with open(ROOT / path, "rb") as file:
        line = file.readline(200)
    if not line.startswith(b"#!"):
        return ""
    return line.decode(errors="replace").split()[-1].split("/")[-1]


def is_code(path):
    return path.suffix in CODE or path.name == "CMakeLists.txt" or interpreter(path) != ""
