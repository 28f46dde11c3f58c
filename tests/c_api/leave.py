#!/usr/bin/env python3
"""leave.py PROGRAM WAY MODEL: runs PROGRAM, which leaves in that way at a random moment, TACET_LEAVE_RUNS times (100); none may
hang, crash or report an error. TACET_LEAVE_SEED repeats the moments of an earlier run."""

import os
import random
import signal
import subprocess
import sys
import time

LIMIT = 60  # seconds; a run takes a fraction of one


def moments(count, longest):
    """One moment in each of `count` equal parts of the time that a run takes, in microseconds, in random order."""
    found = [int((i + random.random()) * longest / count) for i in range(count)]
    random.shuffle(found)
    return found


def how(code):
    return f"died by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def problem(program, way, model, moment):
    try:
        run = subprocess.run([program, way, str(moment), model], timeout=LIMIT, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return f"hung for {LIMIT} s"
    if run.returncode == 0 and not run.stdout:
        return None
    return f"{how(run.returncode)} {run.stdout.decode(errors='replace').strip()[-2000:]}"


def main():
    program, way, model = sys.argv[1:]
    runs = int(os.environ.get("TACET_LEAVE_RUNS", "100"))
    seed = int(os.environ.get("TACET_LEAVE_SEED", str(random.randrange(1 << 32))))
    random.seed(seed)
    start = time.monotonic()
    bad = 0
    for moment in moments(runs, 120_000):
        what = problem(program, way, model, moment)
        if what:
            bad += 1
            print(f"{way} after {moment} us: {what}", flush=True)
    print(f"{way}: {runs - bad} of {runs} left in good order in {time.monotonic() - start:.1f} s (seed {seed})")
    return 0 if bad == 0 and runs > 0 else 1


sys.exit(main())
