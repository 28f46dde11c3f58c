#!/usr/bin/env python3
"""check.py BUILD: tests/gpu/run as far as it can be tried without a GPU: a rehearsal on the CPU passes and leaves well-formed
figures, what fails is counted and ends nothing, and a machine without a GPU is told so."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
BUILD = Path(sys.argv[1]).resolve()
FIELDS = {"version", "date", "device", "driver", "devices", "passed", "failed", "skipped", "steps", "figures"}


def run(*arguments, build=BUILD, **variables):
    """(exit code, lines of output)."""
    # The tests that it calls leave no reports where this one's belongs.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GTEST_")}
    result = subprocess.run([FOLDER / "run", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env={**environment, "TACET_BUILD": str(build), **variables})
    print(result.stdout, flush=True)
    return result.returncode, result.stdout.splitlines()


def figures_of(folder):
    figures = json.loads((folder / "figures.json").read_text())
    assert figures.keys() == FIELDS, figures.keys()
    for count in ("passed", "failed", "skipped"):
        assert figures[count] == sum(step[count] for step in figures["steps"]), count
    return figures


def passes(folder):
    code, lines = run("--cpu", folder)
    figures = figures_of(folder)
    assert code == 0 and figures["failed"] == 0
    assert lines[-1].startswith(f"{figures['passed']} passed, 0 failed"), lines[-1]
    assert figures["passed"] > 100
    speed, stop = (figure["result"] for figure in figures["figures"])
    assert all(test["tokens_per_second"]["median"] > 0 for test in speed), speed
    assert all(stop[call]["bits_equal"] and stop[call]["idle_us"]["max"] > 0 for call in ("prompt", "decode")), stop


def failures_are_counted(folder):
    """On a build whose tests of sessions fail, and whose figures are cut off."""
    build = folder / "build"
    (build / "tests/runtime").mkdir(parents=True)
    tacet = BUILD / "tacet"
    for path, lines in {
        "tacet": f'[ "$1 $2" != "bench stop" ] || exec {tacet} "$@"; [ "$1" != bench ] || {{ echo "["; exit 1; }}; exec {tacet} "$@"',
        "tests/runtime/test_session": 'echo "[  PASSED  ] 3 tests."; echo "[  FAILED  ] Session.Stops (12 ms)"; exit 1',
        "tests/runtime/test_session_state": "kill -ABRT $$",
        "tests/runtime/test_together": 'echo "[  PASSED  ] 0 tests."',
    }.items():
        (build / path).write_text(f"#!/bin/sh\n{lines}\n")
        (build / path).chmod(0o755)
    code, lines = run("--cpu", "--only", "session|together|speed|stop", folder / "out", build=build)
    figures = figures_of(folder / "out")
    assert code == 1
    failed = {step["name"]: (step["passed"], step["failed"]) for step in figures["steps"]}
    assert failed == {"session": (3, 1), "session_state": (0, 1), "together": (0, 1), "saved_session": (0, 1), "speed": (0, 1),
                      "stop": (1, 0)}, failed
    assert lines[-1] == "4 passed, 5 failed", lines[-1]
    assert [figure["result"] is None for figure in figures["figures"]] == [True, False]


def no_gpu_is_said(folder):
    code, lines = run(folder, CUDA_VISIBLE_DEVICES="")
    assert code == 77 and lines[-1].startswith("SKIPPED: gpu: "), lines
    code, lines = run("--device", "cuda", folder)
    assert code == 2 and "cuda:0" in lines[-1], lines


with tempfile.TemporaryDirectory() as temporary:
    for check in (no_gpu_is_said, failures_are_counted, passes):
        check(Path(temporary))
