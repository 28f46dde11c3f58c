#!/usr/bin/env python3
"""exports.py NM LIBRARY LIST HEADER: the library exports exactly what LIST and HEADER have, stays in memory after dlclose, and
leaves nothing to be destroyed when the process ends."""

import re
import subprocess
import sys
from pathlib import Path

# Functions through which a destructor is registered for the end of the process or of a thread.
AT_END = {"__cxa_atexit", "__cxa_thread_atexit", "__cxa_thread_atexit_impl", "atexit", "on_exit", "at_quick_exit"}


def symbols(nm, library, which):
    out = subprocess.run([nm, "-D", which, library], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines() if line.strip()}


def declared(header):
    code = re.sub(r"/\*.*?\*/|^#.*?$", "", header, flags=re.S | re.M)
    return set(re.findall(r"TACET_API[^;(]*?\b(\w+)\(", code))


def differences(what, found, wanted):
    return ([f"{what} lacks {name}" for name in sorted(wanted - found)] +
            [f"{what} has {name}, which exports.txt lacks" for name in sorted(found - wanted)])


def main():
    nm, library, names, header = sys.argv[1:]
    wanted = set(Path(names).read_text().split())
    problems = differences("the library", symbols(nm, library, "--defined-only"), wanted)
    problems += differences("tacet.h", declared(Path(header).read_text()), wanted)
    imported = symbols(nm, library, "--undefined-only")
    problems += [f"the library imports {name}: something static has a destructor, or code registers one; make it a leaked "
                 "pointer or a plain value" for name in sorted(AT_END & imported)]
    dynamic = subprocess.run(["readelf", "-d", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    if "NODELETE" not in dynamic:
        problems.append("the library may be unloaded while its threads run; link it with -z nodelete")
    if not re.search(r"soname: \[libtacet\.so\.\d+\]", dynamic):
        problems.append("the library has no soname libtacet.so.N")
    if not imported or not wanted:
        problems.append("nothing was looked at")
    for line in problems:
        print(line)
    print(f"{len(wanted)} symbols, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
