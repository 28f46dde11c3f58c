#!/usr/bin/env python3
"""silent_token.py [MODEL]: instructions that a token which never fires adds, counted by callgrind.

Counts everything a run does from its submission to its end, on one thread: the executor's loop with its polls, the
kernels, and RunQueue::submit. Builds the program that it counts first, in build/release. Needs valgrind.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parent.parent
program = root / "build/release/bench/bench_silent_token"
model = sys.argv[1] if len(sys.argv) > 1 else root / "models/tiny-chat-Q8_0.gguf"


def build():
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is missing; install the package valgrind (./dev test does)")
    if not (root / "build/release/build.ninja").exists():
        subprocess.run(["cmake", "--preset", "release"], cwd=root, stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["cmake", "--build", root / "build/release", "--target", "bench_silent_token"],
                   stdout=subprocess.DEVNULL, check=True)


def instructions(kind):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
             "--toggle-collect=tacet::cpu::CpuExecutor::take_chunks*", "--toggle-collect=tacet::RunQueue::submit*",
             program, model, kind], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(result.stderr)
        return int(re.search(r"Collected : (\d+)", result.stderr)[1])


build()
base = instructions("none")
print(f"none      {base:>15,} instructions")
worst = 0.0
for kind in ("source", "byte", "deadline"):
    count = instructions(kind)
    percent = 100 * (count - base) / base
    worst = max(worst, percent)
    print(f"{kind:<9} {count:>15,} instructions  {percent:+.4f}%")
sys.exit(0 if worst <= 0.5 else f"a silent token costs {worst:.3f}%, more than 0.5%")
