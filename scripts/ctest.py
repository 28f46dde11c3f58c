#!/usr/bin/env python3
"""ctest.py FOLDER [CTEST ARGUMENTS]: runs ctest in a build folder and counts every test case inside its programs."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def cases(path):
    """Counts (passed, failed) of a GoogleTest report, and its skips as (name, reason)."""
    passed, failed, skips = 0, 0, []
    for case in ET.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None:
            failed += 1
        elif skip is not None or case.get("result") == "skipped":
            lines = (skip.get("message") or "").splitlines() if skip is not None else []
            reason = " ".join(lines[1:]).strip() or "no reason was given"
            skips.append((name, reason))
        elif case.get("status") == "notrun":
            skips.append((name, "disabled in the source"))
        else:
            passed += 1
    return passed, failed, skips


def main():
    folder, arguments = Path(sys.argv[1]), sys.argv[2:]
    reports = folder / "reports"
    reports.mkdir(exist_ok=True)
    for old in reports.glob("*.xml"):
        old.unlink()
    summary = reports / "ctest-junit.xml"
    # Every program has its own report; a path given here would be shared by all.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GTEST_")}
    status = subprocess.run(
        ["ctest", "--test-dir", folder, "--parallel", str(min(2, os.cpu_count() or 1)), "--output-on-failure",
         "--no-tests=error", "--output-junit", summary.resolve(), *arguments],
        env=environment).returncode
    if not summary.exists():
        print("0 passed, 1 failed")
        return 1

    passed, failed, skips = 0, 0, []
    for test in ET.parse(summary).getroot().iter("testcase"):
        name, state = test.get("name"), test.get("status")
        report = reports / f"{name}.xml"
        p, f, s = cases(report) if report.exists() else (0, 0, [])
        if state == "fail":
            f = max(f, 1)
        elif state != "run":
            output = (test.findtext("system-out") or "").strip().splitlines()
            s = s or [("", output[-1] if output else "not run")]
        elif not report.exists():
            p = 1
        elif p + f + len(s) == 0:
            f = 1
            print(f"{name}: the program holds no test")
        passed, failed = passed + p, failed + f
        skips += [(f"{name} {case}".strip(), reason) for case, reason in s]

    for name, reason in skips:
        print(f"SKIPPED: {folder.name} {name}: {reason}")
    if status != 0 and failed == 0:
        failed = 1
    print(f"{passed} passed, {failed} failed, {len(skips)} skipped")
    return 1 if failed else 0


sys.exit(main())
